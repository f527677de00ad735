// Starts the gateway on this machine, in workerd, with Durable Objects unless a Redis is set.
import { randomBytes } from 'node:crypto'
import { build, choosePort, startWorker, takeState } from './local-gateway.mjs'
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
  const named = loadSettings()
  const { variables, hasRedis, ...defaults } = settingsIn(process.env, named)
  if (options.build) {
    console.log('Building the gateway …')
    await build(onStop)
  }
  const state = options.state ?? defaults.state
  const port = await choosePort(options.port)
  if (state !== undefined) await takeState(state, port, onStop)
  const token = randomBytes(32).toString('hex')
  const settings = { SLUICE_OBJECTS_TOKEN: token, ...variables }
  const url = await startWorker({ port, variables: settings, state }, onStop)
  endOnSignals()
  await assertConfigured(url)
  const objects = { url: `${url}/sluice`, token: settings.SLUICE_OBJECTS_TOKEN }
  report(url, hasRedis ? undefined : await createDemoKey(objects))
  // A token of the settings is not shown.
  if (!hasRedis) reportObjects(objects, settings.SLUICE_OBJECTS_TOKEN === token, state)
  console.log('  Ctrl-C ends everything.')
}

/** Throws an error that names the setting at fault, which would refuse every request. */
async function assertConfigured(url) {
  const { configured, message } = await (await fetch(`${url}/health`)).json()
  if (!configured) throw new Error(message)
}

async function createDemoKey(objects) {
  // Imported only now, because the build must come first.
  const { durableObjects, remoteObjects } = await import('@sluice/cloudflare/operator')
  const { createApiKey } = await import('@sluice/core/api-keys')
  const { limiterFor } = await import('../src/limits.ts')
  const store = durableObjects(remoteObjects(objects), { timeoutMs: TIMEOUT_MS })
  const subject = { tenant: 'demo', plan: 'growth' }
  return (await createApiKey(limiterFor(store), subject, { expiresIn: '1d' })).key
}

function report(url, demoKey) {
  const body = '{"model":"gpt-6-luna","messages":[{"role":"user","content":"Hello"}]}'
  const curl = `curl ${url}/v1/chat/completions -H 'authorization: Bearer ${demoKey ?? 'sk_…'}' -d '${body}'`
  console.log(`
  baseURL  ${url}/v1 for OpenAI's clients, ${url} for Anthropic's
  key      ${demoKey ?? `one of yours; to create one, in apps/worker: ${CREATE_KEY}`}

  ${curl}
`)
}

function reportObjects({ url, token }, isOfThisRun, state) {
  const place = state ? `are kept in ${state}` : 'end with this process'
  const variables = `SLUICE_OBJECTS_URL=${url}${isOfThisRun ? ` SLUICE_OBJECTS_TOKEN=${token}` : ''}`
  console.log(`  Keys and budgets ${place}. To manage the keys, in apps/worker:
  ${variables} npx @sluice/cli keys --tenant demo
`)
}
