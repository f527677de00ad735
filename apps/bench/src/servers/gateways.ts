import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

const FOLDER = new URL('../../gateway/', import.meta.url)
const NODE_HOST = fileURLToPath(new URL('node-host.mjs', FOLDER))

/** Files of the folder `gateway`, and the flags of workerd that their Workers are deployed with. */
const OURS = ['enable_request_signal']
const FLAGS = { proxy: [], portkey: ['nodejs_compat'], sluice: OURS, alone: OURS }

/** A gateway in a workerd of its own. */
export interface Gateway extends AsyncDisposable {
  readonly url: string
  /** Returns the CPU time of its workerd so far, in microseconds. */
  cpu(): number
}

/** Starts a gateway with `variables`. */
export async function startGateway(
  name: keyof typeof FLAGS,
  variables: Readonly<Record<string, string>>,
): Promise<Gateway> {
  const contents = await bundle(name)
  const isOurs = FLAGS[name] === OURS
  const before = new Set(workerdProcesses())
  const text = Object.entries(variables).map(([key, value]) => [key, { type: 'text', value }])
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    // The log of calls is made as in a deployment, and not shown.
    handleStructuredLogs: () => {},
    workers: [
      {
        config: {
          name: 'worker',
          compatibilityDate: '2026-10-01',
          compatibilityFlags: FLAGS[name],
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          ...(isOurs && {
            exports: { Limits: { type: 'durable-object', storage: 'sqlite' } },
          }),
          env: {
            ...Object.fromEntries(text),
            ...(isOurs && {
              LIMITS: { type: 'durable-object', worker: 'worker', exportName: 'Limits' },
            }),
          },
        },
        // Without the Worker that Miniflare puts in front of others.
        dev: { unsafeDirectSockets: [{}] },
      },
    ],
  })
  const { origin } = await miniflare.unsafeGetDirectURL()
  const [pid, ...more] = workerdProcesses().filter((one) => !before.has(one))
  if (pid === undefined || more.length > 0) throw new Error('Cannot tell which process is workerd')
  return {
    url: origin,
    cpu: () => cpuOf(pid),
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}

async function bundle(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`${name}.mjs`, FOLDER))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: name === 'portkey' ? 'node' : 'browser',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'import'],
    external: ['cloudflare:*'],
    define: { 'process.env.NODE_ENV': '"production"' },
    ...(name === 'portkey' && {
      alias: { '@hono/node-server': NODE_HOST, '@hono/node-ws': NODE_HOST },
      // Some of its dependencies are CommonJS.
      banner: {
        js: `import { createRequire } from 'node:module'; const require = createRequire('/')`,
      },
    }),
  })
  return outputFiles[0]?.text ?? ''
}

/** Returns the ids of the workerd processes that this process has started. */
function workerdProcesses(): string[] {
  if (process.platform !== 'linux') throw new Error('CPU per process is measured on Linux only')
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false
    const [name, fields] = statOf(id)
    return name === 'workerd' && fields[1] === String(process.pid)
  })
}

/** Linux counts the time of a process, user and system, in hundredths of a second. */
function cpuOf(pid: string): number {
  const [, fields] = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Reads the name of a process, and the fields after it. */
function statOf(pid: string): [name: string, fields: readonly string[]] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [, name = '', rest = ''] = /\((.*)\) (.*)/.exec(stat) ?? []
    return [name, rest.split(' ')]
  } catch {
    // It has ended.
    return ['', []]
  }
}

/** A stand-in for a provider, in a process of its own. */
export interface ModelProvider extends AsyncDisposable {
  readonly url: string
  /** Returns the calls so far. */
  calls(): Promise<number>
}

export async function startModelProvider(): Promise<ModelProvider> {
  const child = fork(new URL('model-provider.ts', import.meta.url))
  const exit = once(child, 'exit')
  const [url] = (await once(child, 'message')) as [string]
  return {
    url,
    async calls() {
      child.send('calls')
      const [calls] = (await once(child, 'message')) as [number]
      return calls
    },
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await exit
    },
  }
}
