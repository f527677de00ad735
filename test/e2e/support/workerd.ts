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

/** Bundles the Worker in `folder` as `wrangler deploy` does. */
export async function bundleWorker(folder: string): Promise<WorkerBundle> {
  const output = await mkdtemp(join(tmpdir(), 'sluice-worker-'))
  try {
    const args = ['deploy', '--dry-run', '--outdir', output]
    await promisify(execFile)('wrangler', args, {
      cwd: folder,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
    })
    const contents = await readFile(join(output, 'index.js'), 'utf8')
    const config = await readFile(join(folder, 'wrangler.jsonc'), 'utf8')
    const [, date = ''] = /"compatibility_date": "([\d-]+)"/.exec(config) ?? []
    const [, flags = '[]'] = /"compatibility_flags": (\[[^\]]*\])/.exec(config) ?? []
    return {
      contents,
      compatibilityDate: date,
      compatibilityFlags: JSON.parse(flags) as string[],
    }
  } finally {
    await rm(output, { recursive: true })
  }
}

/** Runs a Worker in workerd, with `variables` as its variables and secrets. */
export async function runWorker(
  { contents, ...config }: WorkerBundle,
  variables: Readonly<Record<string, string>>,
): Promise<App> {
  const env = Object.entries(variables).map(([name, value]) => [name, { type: 'text', value }])
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          ...config,
          name: 'worker',
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          env: Object.fromEntries(env) as Record<string, { type: 'text'; value: string }>,
        },
      },
    ],
  })
  const url = await miniflare.ready
  return { url: url.origin, stop: () => miniflare.dispose() }
}
