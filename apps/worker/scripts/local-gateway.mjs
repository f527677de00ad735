import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'

const app = fileURLToPath(new URL('..', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))
const HOST = '127.0.0.1'
const DEFAULT_PORT = 8787

/**
 * Builds the gateway and its packages. Throws the output if the build fails. `onStop` gets the function
 * that ends what was started, here and below.
 */
export async function build(onStop) {
  const turbo = `${root}/node_modules/turbo/bin/turbo`
  const filters = ['--filter=@sluice/worker', '--filter=@sluice/cli']
  const child = spawn(process.execPath, [turbo, 'run', 'build', ...filters], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', TURBO_TELEMETRY_DISABLED: '1' },
  })
  onStop(() => child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output += chunk))
  }
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The build failed:\n${output.trim()}`)
}

/**
 * Takes a folder for this process alone: two gateways would write over each other's budgets. Throws if another has it, or
 * left workerd running at its port when it was killed.
 */
export async function takeState(folder, port, onStop) {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'gateway.pid')
  const [owner, ownersPort] = (await readFile(file, 'utf8').catch(() => '')).split(' ').map(Number)
  const keeps = `keeps its keys and budgets in ${folder}: end it, or name another folder by --state.`
  if (owner > 0 && isRunning(owner)) {
    throw new Error(`Process ${owner} ${keeps}\nIf it is no gateway, remove ${file}.`)
  }
  if (ownersPort > 0 && !(await isFree(ownersPort))) {
    const left = 'perhaps workerd of a gateway that was killed'
    throw new Error(
      `The process at port ${ownersPort}, ${left}, ${keeps}\nIf it is no gateway, remove ${file}.`,
    )
  }
  await writeFile(file, `${process.pid} ${port}`)
  onStop(() => rm(file, { force: true }))
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/**
 * Runs the bundle of the last build in workerd. Resolves to its address.
 *
 * @param state The folder that keeps its Durable Objects. Without one, these end with it.
 */
export async function startWorker({ port, variables, state }, onStop) {
  const contents = await readFile(`${app}dist/index.js`, 'utf8')
  const config = await readFile(`${app}wrangler.jsonc`, 'utf8')
  const [, compatibilityDate] = /"compatibility_date": "([\d-]+)"/.exec(config)
  const [, flags] = /"compatibility_flags": (\[[^\]]*\])/.exec(config)
  const [, binding, exportName] = /"name": "(\w+)", "class_name": "(\w+)"/.exec(config)
  const env = Object.entries(variables).map(([name, value]) => [name, { type: 'text', value }])
  const miniflare = new Miniflare({
    host: HOST,
    port,
    cf: false,
    ...(state !== undefined && { resourcePersistencePath: state }),
    workers: [
      {
        config: {
          name: 'gateway',
          compatibilityDate,
          compatibilityFlags: JSON.parse(flags),
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          exports: { [exportName]: { type: 'durable-object', storage: 'sqlite' } },
          env: {
            ...Object.fromEntries(env),
            [binding]: { type: 'durable-object', worker: 'gateway', exportName },
          },
        },
      },
    ],
  })
  onStop(() => miniflare.dispose())
  return (await miniflare.ready).origin
}

/** Returns the port to use: the given one, or else the default, or a free one. */
export async function choosePort(port) {
  if (port) return port
  if (port === undefined && (await isFree(DEFAULT_PORT))) return DEFAULT_PORT
  return listenOnce(0)
}

const isFree = (port) =>
  listenOnce(port).then(
    () => true,
    () => false,
  )

/** Listens for a moment, and returns the port. Throws if it is in use. */
async function listenOnce(port) {
  const server = createServer()
  server.listen(port, HOST)
  await once(server, 'listening')
  const { port: given } = server.address()
  server.close()
  await once(server, 'close')
  return given
}
