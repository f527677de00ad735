import { fileURLToPath } from 'node:url'
import { STORE_TIMEOUT_MS, type App, type Settings } from './target.ts'
import { bundleWorker, runWorker, type WorkerBundle } from './workerd.ts'

const folder = fileURLToPath(new URL('../fixtures/worker/', import.meta.url))
let bundle: Promise<WorkerBundle> | undefined

/** A Worker with the demo's routes and policies, bundled by wrangler, in workerd. */
export async function startWorker(settings: Settings): Promise<App> {
  bundle ??= bundleWorker(folder)
  return runWorker(await bundle, {
    UPSTASH_REDIS_REST_URL: settings.storeUrl,
    UPSTASH_REDIS_REST_TOKEN: settings.storeToken,
    STORE_TIMEOUT_MS,
    OPENAI_BASE_URL: settings.upstreamUrl,
    OPENAI_API_KEY: settings.upstreamKey,
    JWT_SECRET: settings.secret,
  })
}
