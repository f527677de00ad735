// Starts the gateway on this machine, in workerd, with a store of its own unless one is set.
import { build, startStore, startWorker } from './local-gateway.mjs'
import { HELP, loadSettings, parseOptions, settingsIn } from './settings.mjs'

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
  // Imported only now, because the build must come first.
  const { keyStore } = await import('./key-store.mjs')
  const redis = own ?? (await startStore(onStop))
  const keys = keyStore({ ...redis, timeoutMs: TIMEOUT_MS })
  if (own && (await keys.list()).length === 0) {
    throw new Error(
      'There is no key in this Redis, so nobody could use the gateway. Create one first:\n' +
        'npm run gateway:keys -- create --tenant acme --plan growth',
    )
  }
  const demo = own ? undefined : await keys.create({ tenant: 'demo', plan: 'growth' })
  const url = await startWorker(options.port, { ...variables, ...asVariables(redis) }, onStop)
  endOnSignals()
  return report(url, demo?.key, redis)
}

function asVariables({ url, token }) {
  return { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }
}

function report(url, demoKey, redis) {
  const body = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}'
  const curl = `curl ${url}/v1/chat/completions -H 'authorization: Bearer ${demoKey ?? 'sk-…'}' -d '${body}'`
  console.log(`
  baseURL  ${url}/v1 for OpenAI's clients, ${url} for Anthropic's
  key      ${demoKey ?? 'one of yours ("npm run gateway:keys -- list" shows their ids)'}

  ${curl}
`)
  if (demoKey) {
    const variables = Object.entries(asVariables(redis)).map((entry) => entry.join('='))
    console.log(`  A stand-in answers. Keys and counts are in this process, and end with it. To manage the keys:
  ${variables.join(' ')} npm run gateway:keys -- list
`)
  }
  console.log('  Ctrl-C ends everything.')
}
