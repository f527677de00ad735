import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startStoreGate } from './store-gate.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const HOST = '127.0.0.1'
const DEFAULT_PORT = 3000
const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 1_000
const DRIVE_ENV = {
  // Hundreds of requests to a real model would cost real money.
  OPENAI_API_KEY: '',
  DEMO_MODEL_LATENCY_MS: '40',
  // On a busy machine the default timeout would make the demo count locally, from zero.
  STORE_TIMEOUT_MS: '15000',
}
const ENGINES = {
  'redis-server': 'a redis-server of its own',
  embedded: 'the embedded engine, which is for development only',
}

/** Builds the demo and its packages. Prints nothing; throws the output if the build fails. */
export async function build() {
  const turbo = `${root}/node_modules/turbo/bin/turbo`
  const filters = ['--filter=@sluice/demo', '--filter=@sluice/local']
  const { child, output } = start([turbo, 'run', 'build', ...filters, '--output-logs=errors-only'])
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The build failed:\n${output()}`)
}

/** Starts the store and the demo. */
export async function startStack(options) {
  const store = options.upstash ? upstashStore(options.upstash) : await localStore(options)
  try {
    const secret = process.env.DEMO_JWT_SECRET ?? randomBytes(32).toString('base64url')
    const demo = await startDemo(options, store, secret)
    const stop = async () => {
      await demo.stop()
      await store.stop()
    }
    const { url, ended } = demo
    return { url, ended, secret, stop, engine: store.engine, storeRequests: store.requests }
  } catch (error) {
    await store.stop()
    throw error
  }
}

const upstashStore = (upstash) => ({
  ...upstash,
  engine: `Upstash at ${new URL(upstash.url).host}`,
  requests: () => undefined,
  stop: async () => {},
})

async function localStore({ engine, drive }) {
  // Imported only now, because the build must come first.
  const { startLocal } = await import('@sluice/local')
  const local = await startLocal(engine ? { engine } : {})
  // The drive measures, and stops nothing.
  const gate = drive ? undefined : await startStoreGate(local)
  return {
    url: gate?.url ?? local.url,
    token: local.token,
    switchUrl: gate?.switchUrl,
    engine: ENGINES[local.engine],
    requests: () => local.requests,
    async stop() {
      await gate?.stop()
      await local.close()
    },
  }
}

async function startDemo({ port, drive }, store, secret) {
  const next = `${root}/node_modules/next/dist/bin/next`
  const demoPort = port ?? ((await isFree(DEFAULT_PORT)) ? DEFAULT_PORT : 0)
  const { child, output } = start([next, 'start', '-p', `${demoPort}`, '-H', HOST], {
    cwd: `${root}/apps/demo`,
    env: {
      NODE_ENV: 'production',
      UPSTASH_REDIS_REST_URL: store.url,
      UPSTASH_REDIS_REST_TOKEN: store.token,
      DEMO_JWT_SECRET: secret,
      ...(drive
        ? DRIVE_ENV
        : {
            DEMO_CONTROLS: 'on',
            DEMO_RELAY_KEY: randomBytes(32).toString('base64url'),
            ...(store.switchUrl && { DEMO_STORE_SWITCH: store.switchUrl }),
          }),
    },
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    // Next.js waits for open connections, such as a stream or a browser's.
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }
  const until = performance.now() + START_TIMEOUT_MS
  const isOver = () => child.exitCode !== null || performance.now() > until
  while (!(output().includes('Ready in') || isOver())) {
    await Promise.race([once(child.stdout, 'data'), ended, delay(until - performance.now())])
  }
  const url = /Local:\s+(http:\S+)/.exec(output())?.[1]
  if (url && !isOver()) {
    await fetch(url)
    child.stderr.pipe(process.stderr)
    return { url, ended, stop }
  }
  await stop()
  throw new Error(`The demo did not start:\n${output()}`)
}

/** Starts a program of Node that ends with this process. */
function start(args, { cwd = root, env } = {}) {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { NEXT_TELEMETRY_DISABLED: '1', ...process.env, ...env },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return { child, output: () => text.trim() }
}

async function isFree(port) {
  const server = createServer().listen(port, HOST)
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.close()
  return free
}
