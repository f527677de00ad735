import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
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

/** Builds the demo and its packages. Prints nothing; throws the output if the build fails. */
export async function build() {
  const turbo = `${root}/node_modules/turbo/bin/turbo`
  const filters = ['--filter=@sluice/demo', '--filter=@sluice/local']
  const child = spawn(
    process.execPath,
    [turbo, 'run', 'build', ...filters, '--output-logs=errors-only'],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { NEXT_TELEMETRY_DISABLED: '1', ...process.env },
    },
  )
  endWithThisProcess(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output += chunk))
  }
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The build failed:\n${output.trim()}`)
}

function endWithThisProcess(child) {
  const killNow = () => child.kill('SIGTERM')
  process.once('exit', killNow)
  child.once('exit', () => process.off('exit', killNow))
}

/** Starts the store and the demo. */
export async function startStack(options) {
  const store = await startStore(options)
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

async function startStore({ upstash, engine, drive }) {
  if (upstash) {
    const name = `Upstash at ${new URL(upstash.url).host}`
    return { ...upstash, engine: name, requests: () => undefined, stop: async () => {} }
  }
  // Imported only now, because the build must come first.
  const { startLocal } = await import('@sluice/local')
  const local = await startLocal(engine ? { engine } : {})
  const name = {
    'redis-server': 'a redis-server of its own',
    embedded: 'the embedded engine, which is for development only',
  }[local.engine]
  // The drive measures, and stops nothing.
  const gate = drive ? undefined : await startStoreGate(local)
  return {
    url: local.url,
    token: local.token,
    engine: name,
    ...(gate && { url: gate.url, switchUrl: gate.switchUrl }),
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
  const child = spawn(process.execPath, [next, 'start', '-p', String(demoPort), '-H', HOST], {
    cwd: `${root}/apps/demo`,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      NEXT_TELEMETRY_DISABLED: '1',
      ...process.env,
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
  endWithThisProcess(child)
  try {
    return { url: await listening(child, ended), ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Resolves to the address that `next start` prints, as soon as the demo answers there. */
function listening(child, ended) {
  return new Promise((resolve, reject) => {
    let output = ''
    let isReady = false
    const fail = (why) => reject(new Error(`The demo ${why}:\n${output.trim()}`))
    const timer = setTimeout(() => fail('did not start in time'), START_TIMEOUT_MS)
    const read = (chunk) => {
      if (isReady) return undefined
      output += chunk
      const url = /Local:\s+(http:\S+)/.exec(output)?.[1]
      if (!url || !output.includes('Ready in')) return undefined
      isReady = true
      return fetch(url).then(
        () => resolve(url),
        () => fail('does not answer'),
      )
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.stderr.on('data', (chunk) => isReady && process.stderr.write(chunk))
    void ended.then(() => fail('did not start')).finally(() => clearTimeout(timer))
  })
}

async function isFree(port) {
  const server = createServer()
  const free = await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => resolve(true))
  })
  if (free) await new Promise((resolve) => server.close(resolve))
  return free
}
