import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename } from 'node:path'

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 5_000
const QUIET = {
  NEXT_TELEMETRY_DISABLED: '1',
  ASTRO_TELEMETRY_DISABLED: '1',
  WRANGLER_SEND_METRICS: 'false',
}

/**
 * Installs the app in `folder` by its own lockfile, with this repository's packages packed as npm packs
 * them, builds it and starts it with the store `local` and the provider `model`.
 */
export async function startApp(folder, { local, model }) {
  const { scripts } = readJson(`${folder}/package.json`)
  await npm(folder, ['ci', '--no-fund', '--no-audit'])
  // The packages' lines in a lockfile have no checksum, so `npm ci` packs today's.
  if (scripts.build) await npm(folder, ['run', 'build'])
  const port = await freePort()
  const secret = randomBytes(32).toString('base64url')
  const child = start(folder, ['run', 'start'], {
    PORT: String(port),
    JWT_SECRET: secret,
    UPSTASH_REDIS_REST_URL: local.url,
    UPSTASH_REDIS_REST_TOKEN: local.token,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'unused',
  })
  const url = `http://127.0.0.1:${port}`
  const app = {
    url,
    secret,
    request: readJson(`${folder}/example.json`),
    page: `${startPage(basename(folder))}\n${startPage('README')}`,
    stop: () => stop(child),
  }
  try {
    await answering(url, child)
    return app
  } catch (error) {
    await app.stop()
    throw error
  }
}

const startPage = (name) =>
  readFileSync(new URL(`../../docs/start/${name}.md`, import.meta.url), 'utf8')

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** Runs npm to its end. Throws what it printed if it fails. */
async function npm(cwd, args) {
  const child = start(cwd, args, {})
  const [code] = await once(child.process, 'close')
  if (code !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${child.output()}`)
}

/** Starts npm in a process group of its own, so that what it starts ends with it. */
function start(cwd, args, env) {
  const child = spawn('npm', args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...QUIET, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output = (output + chunk).slice(-4_000)))
  }
  const killNow = () => killGroup(child, 'SIGKILL')
  process.once('exit', killNow)
  child.once('exit', () => process.off('exit', killNow))
  return { process: child, output: () => output.trim() }
}

async function stop({ process: child }) {
  const closed = child.exitCode === null ? once(child, 'close') : undefined
  killGroup(child, 'SIGTERM')
  const timer = setTimeout(() => killGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS)
  await closed
  clearTimeout(timer)
}

function killGroup({ pid }, signal) {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // It has ended already.
    if (error.code !== 'ESRCH') throw error
  }
}

/** Resolves when the app answers at all. */
async function answering(url, child) {
  const end = Date.now() + START_TIMEOUT_MS
  while (Date.now() < end && child.process.exitCode === null) {
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`npm run start did not answer at ${url}:\n${child.output()}`)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
