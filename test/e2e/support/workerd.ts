import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Miniflare } from 'miniflare'
import type { App } from './target.ts'

/** A Worker's bundle, and the settings of its `wrangler.jsonc` that change what it does. */
export interface WorkerBundle {
  readonly contents: string
  readonly compatibilityDate: string
  readonly compatibilityFlags: string[]
  /** The classes of Durable Objects, by binding. */
  readonly objects: Readonly<Record<string, string>>
}

type Config = ConstructorParameters<typeof Miniflare>[0]['workers'][number]['config']
type Exports = NonNullable<Config['exports']>
type Bindings = NonNullable<Config['env']>

/** A Worker in workerd. */
export interface WorkerApp extends App {
  /** The lines that it has logged. */
  readonly logs: readonly string[]
}

/** Bundles the Worker in `folder` as `wrangler deploy` does. */
export async function bundleWorker(folder: string): Promise<WorkerBundle> {
  const output = await mkdtemp(join(tmpdir(), 'sluice-worker-'))
  try {
    const args = ['deploy', '--dry-run', '--outdir', output]
    await promisify(execFile)('wrangler', args, {
      cwd: folder,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
    })
    return await builtWorker(folder, output)
  } finally {
    await rm(output, { recursive: true })
  }
}

/** Reads the Worker in `folder` as `wrangler deploy` has bundled it. */
export async function builtWorker(
  folder: string,
  output: string = join(folder, 'dist'),
): Promise<WorkerBundle> {
  const config = await readFile(join(folder, 'wrangler.jsonc'), 'utf8')
  const [, main = ''] = /"main": "(?:[^"]*\/)?([^"/]+)\.ts"/.exec(config) ?? []
  const contents = await readFile(join(output, `${main}.js`), 'utf8')
  const [, date = ''] = /"compatibility_date": "([\d-]+)"/.exec(config) ?? []
  const [, flags = '[]'] = /"compatibility_flags": (\[[^\]]*\])/.exec(config) ?? []
  const bindings = config.matchAll(/"name":\s*"(\w+)",\s*"class_name":\s*"(\w+)"/g)
  return {
    contents,
    compatibilityDate: date,
    compatibilityFlags: JSON.parse(flags) as string[],
    objects: Object.fromEntries(Array.from(bindings, ([, name, type]) => [name, type])),
  }
}

/**
 * Runs a Worker in workerd, with `variables` as its variables and secrets.
 *
 * @param storage The folder that keeps what its objects store. Without one, that ends with it.
 */
export async function runWorker(
  { contents, objects, ...config }: WorkerBundle,
  variables: Readonly<Record<string, string>>,
  storage?: string,
): Promise<WorkerApp> {
  const env = Object.entries(variables).map(([name, value]) => [name, { type: 'text', value }])
  const bindings = Object.entries(objects).map(([name, exportName]) => [
    name,
    { type: 'durable-object', worker: 'worker', exportName },
  ])
  const classes = Object.values(objects).map((name) => [
    name,
    { type: 'durable-object', storage: 'sqlite' },
  ])
  const logs: string[] = []
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    handleStructuredLogs: ({ message }) => void logs.push(message),
    ...(storage !== undefined && { resourcePersistencePath: storage }),
    workers: [
      {
        config: {
          ...config,
          name: 'worker',
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          exports: Object.fromEntries(classes) as Exports,
          env: Object.fromEntries([...env, ...bindings]) as Bindings,
        },
      },
    ],
  })
  const url = await miniflare.ready
  return { url: url.origin, stop: () => miniflare.dispose(), logs }
}
