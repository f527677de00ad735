import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { startLocal } from '@sluice/local'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { inject } from 'vitest'

type Workers = ConstructorParameters<typeof Miniflare>[0]['workers']
type Config = Workers[number]['config']

/** A Worker in workerd, with the Upstash REST protocol in front of the tests' Redis. */
export interface TestWorker extends AsyncDisposable {
  readonly url: URL
  readonly miniflare: Miniflare
  /** HTTP requests that Redis has had. */
  readonly storeRequests: number
}

/** Bundles a fixture as a user's tools do, and runs it. */
export async function startWorker(
  fixture: string,
  variables: Record<string, string> = {},
  config: {
    env?: Config['env']
    triggers?: Config['triggers']
    compatibilityFlags?: string[]
    /** The classes of Durable Objects, by binding. */
    objects?: Record<string, string>
    port?: number
    /** The folder that keeps what objects store. @default none: it ends with the Worker */
    storage?: string
    /** A fixture that stands in front of it, with it bound as `BEHIND`. */
    front?: string
  } = {},
): Promise<TestWorker> {
  const local = await startLocal({ redisUrl: inject('redisUrl') })
  const text = {
    REST_URL: local.url,
    REST_TOKEN: local.token,
    PREFIX: `workers-${randomUUID()}`,
    ...variables,
  }
  const env = Object.fromEntries(
    Object.entries(text).map(([name, value]) => [name, { type: 'text' as const, value }]),
  )
  const front = config.front === undefined ? [] : [await frontWorker(config.front, env)]
  const objects = Object.entries(config.objects ?? {})
  const classes = objects.map(([, exportName]) => exportName)
  const bindings = Object.fromEntries(
    objects.map(([name, exportName]) => [
      name,
      { type: 'durable-object' as const, worker: 'worker', exportName },
    ]),
  )
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: config.port ?? 0,
    ...(config.storage !== undefined && { resourcePersistencePath: config.storage }),
    // The log of a Worker about a message that fails on purpose.
    handleStructuredLogs: () => {},
    workers: [
      ...front,
      {
        config: {
          name: 'worker',
          compatibilityDate: '2026-01-01',
          compatibilityFlags: config.compatibilityFlags ?? [],
          manifest: {
            mainModule: 'index.js',
            modules: { 'index.js': { type: 'esm', contents: await bundle(fixture) } },
          },
          triggers: config.triggers,
          exports: Object.fromEntries(
            classes.map((name) => [name, { type: 'durable-object', storage: 'sqlite' } as const]),
          ),
          env: { ...env, ...bindings, ...config.env },
        },
      },
    ],
  })
  const url = await miniflare.ready
  return {
    url,
    miniflare,
    get storeRequests() {
      return local.requests
    },
    async [Symbol.asyncDispose]() {
      await miniflare.dispose()
      await local.close()
    },
  }
}

async function frontWorker(fixture: string, env: Config['env']): Promise<Workers[number]> {
  const contents = await bundle(fixture)
  return {
    config: {
      name: 'front',
      compatibilityDate: '2026-01-01',
      manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
      env: { ...env, BEHIND: { type: 'worker', worker: 'worker' } },
    },
  }
}

async function bundle(fixture: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`fixtures/${fixture}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*'],
  })
  return outputFiles[0]?.text ?? ''
}

/** The answer to a request line that no client library would send. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
}

/** Sends a request with this very target, byte for byte. */
export async function raw(
  { url }: TestWorker,
  target: string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<RawAnswer> {
  const socket = connect(Number(url.port), url.hostname)
  const lines = Object.entries({ host: url.host, connection: 'close', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const length = method === 'POST' ? 'content-length: 0\r\n' : ''
  socket.write(Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}${length}\r\n`, 'latin1'))
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk) => (answer += String(chunk)))
  await once(socket, 'close')
  const [top = '', body = ''] = answer.split('\r\n\r\n', 2)
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(top)?.[1]), body }
}
