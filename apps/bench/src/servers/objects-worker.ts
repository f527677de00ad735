import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import type { ObjectsJob } from '../../objects/worker.ts'
import type { Servers } from './servers.ts'

/** A Worker in workerd, with Durable Objects and with the REST server. */
export interface ObjectsWorker extends AsyncDisposable {
  /** Has it make decisions. Returns the milliseconds of each. */
  run(job: ObjectsJob): Promise<readonly number[]>
}

export async function startObjectsWorker({ url, token }: Servers): Promise<ObjectsWorker> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../objects/worker.ts', import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'import'],
    external: ['cloudflare:*'],
  })
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'worker',
          compatibilityDate: '2026-10-01',
          manifest: {
            mainModule: 'index.js',
            modules: { 'index.js': { type: 'esm', contents: outputFiles[0]?.text ?? '' } },
          },
          exports: { LimitsObject: { type: 'durable-object', storage: 'sqlite' } },
          env: {
            LIMITS: { type: 'durable-object', worker: 'worker', exportName: 'LimitsObject' },
            URL: { type: 'text', value: url },
            TOKEN: { type: 'text', value: token },
          },
        },
      },
    ],
  })
  const address = await miniflare.ready
  return {
    async run(job) {
      const response = await fetch(address, { method: 'POST', body: JSON.stringify(job) })
      if (!response.ok) throw new Error(await response.text())
      return (await response.json()) as number[]
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}
