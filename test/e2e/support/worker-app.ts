import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { STORE_TIMEOUT_MS, type App, type Settings } from './target.ts'

const worker = fileURLToPath(new URL('../../../apps/worker/', import.meta.url))

/** The Worker as `wrangler deploy --dry-run` bundled it, in workerd. */
export async function startWorker(settings: Settings): Promise<App> {
  const config = readFileSync(`${worker}wrangler.jsonc`, 'utf8')
  const compatibilityDate = /"compatibility_date": "([\d-]+)"/.exec(config)?.[1] ?? ''
  const contents = readFileSync(`${worker}dist/index.js`, 'utf8')
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'sluice-worker',
          compatibilityDate,
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          env: {
            UPSTASH_REDIS_REST_URL: text(settings.storeUrl),
            UPSTASH_REDIS_REST_TOKEN: text(settings.storeToken),
            STORE_TIMEOUT_MS: text(STORE_TIMEOUT_MS),
            OPENAI_BASE_URL: text(settings.upstreamUrl),
            OPENAI_API_KEY: text(settings.upstreamKey),
            JWT_SECRET: text(settings.secret),
          },
        },
      },
    ],
  })
  const url = await miniflare.ready
  return { url: url.origin, stop: () => miniflare.dispose() }
}

const text = (value: string): { type: 'text'; value: string } => ({ type: 'text', value })
