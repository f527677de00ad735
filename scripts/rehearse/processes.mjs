import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

const START_TIMEOUT_MS = 180_000
const STOP_TIMEOUT_MS = 5_000
const QUIET = {
  NEXT_TELEMETRY_DISABLED: '1',
  ASTRO_TELEMETRY_DISABLED: '1',
  WRANGLER_SEND_METRICS: 'false',
}

/** Runs a line of a shell to its end, and returns what it printed. Throws that if it fails. */
export async function run(cwd, line, env) {
  const child = start(cwd, line, env)
  child.process.stdin.end()
  const [code] = await once(child.process, 'close')
  if (code !== 0) throw new Error(`${line} failed:\n${child.output()}`)
  return child.output()
}

/** Starts a line of a shell in a process group of its own, so that what it starts ends with it. */
export function start(cwd, line, env) {
  const child = spawn('bash', ['-c', line], {
    cwd,
    detached: true,
    // Vite ends with its input.
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...QUIET, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output = (output + chunk).slice(-8_000)))
  }
  const killNow = () => killGroup(child, 'SIGKILL')
  process.once('exit', killNow)
  child.once('exit', () => process.off('exit', killNow))
  return { process: child, output: () => output.trim() }
}

/** Ends what was started, and all that it has started. */
export async function stop({ process: child }) {
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
export async function answering(url, child) {
  const end = Date.now() + START_TIMEOUT_MS
  while (Date.now() < end && child.process.exitCode === null) {
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`nothing answers at ${url}:\n${child.output()}`)
}

/** Below those that the system gives to whoever asks for any, so that none is taken before an app listens. */
let nextPort = 20_000 + (process.pid % 1_000) * 10

/** Returns a port of 127.0.0.1 where nothing listens, each time another one. */
export async function freePort() {
  for (;;) {
    const port = nextPort++
    const server = createServer()
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
