// Starts the gateway on this machine, in workerd, with a store of its own unless one is set.
import { build, startStore, startWorker } from './local-gateway.mjs'
import { CREATE_KEY, HELP, loadSettings, parseOptions, settingsIn } from './settings.mjs'

const TIMEOUT_MS = 10_000

/** Functions that end what was started. */
const started = []
const onStop = (stop) => void started.push(stop)
let ending

endOnSignals()
try {
  await start()
} catch (error) {
  console.error(error.message)
  await end(1)
}

function endOnSignals() {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // Miniflare's own handlers would end this process before the rest has ended.
    process.removeAllListeners(signal)
    process.on(signal, () => void end(0))
  }
}

/** Ends everything, the last that was started first, and then this process. */
function end(code) {
  ending ??= (async () => {
    for (const stop of started.toReversed()) await stop()
    process.exit(code)
  })()
  return ending
}

async function start() {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) return console.log(HELP)
  loadSettings()
  const { variables, redis: own } = settingsIn(process.env)
  if (options.build) {
    console.log('Building the gateway …')
    await build(onStop)
  }
  const redis = own ?? (await startStore(onStop))
  const demo = own ? undefined : await createDemoKey(redis)
  const url = await startWorker(options.port, { ...variables, ...asVariables(redis) }, onStop)
  endOnSignals()
  return report(url, demo?.key, redis)
}

async function createDemoKey({ url, token }) {
  // Imported only now, because the build must come first.
  const { createApiKey } = await import('@sluice/core/api-keys')
  const { limiterFor } = await import('../src/limits.ts')
  const limiter = limiterFor({ url, token, timeoutMs: TIMEOUT_MS })
  return createApiKey(limiter, { tenant: 'demo', plan: 'growth' })
}

function asVariables({ url, token }) {
  return { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }
}

function report(url, demoKey, redis) {
  const body = '{"model":"gpt-6-luna","messages":[{"role":"user","content":"Hello"}]}'
  const curl = `curl ${url}/v1/chat/completions -H 'authorization: Bearer ${demoKey ?? 'sk_…'}' -d '${body}'`
  console.log(`
  baseURL  ${url}/v1 for OpenAI's clients, ${url} for Anthropic's
  key      ${demoKey ?? `one of yours; to create one, in apps/worker: ${CREATE_KEY}`}

  ${curl}
`)
  if (demoKey) {
    const variables = Object.entries(asVariables(redis)).map((entry) => entry.join('='))
    console.log(`  A stand-in answers. Keys and counts are in this process, and end with it. To manage the keys, in apps/worker:
  ${variables.join(' ')} npx @sluice/cli keys --tenant demo
`)
  }
  console.log('  Ctrl-C ends everything.')
}
