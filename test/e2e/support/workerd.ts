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
}

type Config = ConstructorParameters<typeof Miniflare>[0]['workers'][number]['config']
type Exports = NonNullable<Config['exports']>
type Bindings = NonNullable<Config['env']>

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
  return { contents, compatibilityDate: date, compatibilityFlags: JSON.parse(flags) as string[] }
}

/** Runs a Worker in workerd, with `variables` as its variables and secrets. */
export async function runWorker(
  { contents, ...config }: WorkerBundle,
  variables: Readonly<Record<string, string>>,
  /** The classes of Durable Objects, by binding. */
  objects: Readonly<Record<string, string>> = {},
): Promise<App> {
  const env = Object.entries(variables).map(([name, value]) => [name, { type: 'text', value }])
  const bindings = Object.entries(objects).map(([name, exportName]) => [
    name,
    { type: 'durable-object', worker: 'worker', exportName },
  ])
  const classes = Object.values(objects).map((name) => [
    name,
    { type: 'durable-object', storage: 'sqlite' },
  ])
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
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
  return { url: url.origin, stop: () => miniflare.dispose() }
}
