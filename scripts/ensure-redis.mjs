import { spawnSync } from 'node:child_process'

const SERVERS = ['redis-server', 'valkey-server']

/** The commands that install Redis, by the name of the package manager. */
const INSTALLERS = new Map([
  [
    'apt-get',
    [
      ['apt-get', 'update', '-q'],
      ['apt-get', 'install', '-y', '-q', '--no-install-recommends', 'redis-server'],
    ],
  ],
  ['apk', [['apk', 'add', 'redis']]],
  ['dnf', [['dnf', 'install', '-y', 'redis']]],
  ['brew', [['brew', 'install', 'redis']]],
])

/** Finds a Redis server on the PATH, or installs one. Throws an error that says what to do. */
export function ensureRedis() {
  const server = SERVERS.find(isCommand)
  if (server) return server
  for (const [manager, steps] of INSTALLERS) {
    if (!isCommand(manager)) continue
    console.log(`No Redis on the PATH: installing one with ${manager}.`)
    const failed = steps.find((step) => !succeeds(step, 'inherit'))
    const installed = failed ? undefined : SERVERS.find(isCommand)
    if (installed) return installed
    throw new Error(
      `The tests need a real Redis, and "${(failed ?? steps.at(-1)).join(' ')}" did not install it. ` +
        'Install redis-server 7 or newer, put it on the PATH, and run the command again.',
    )
  }
  throw new Error(
    'The tests need a real Redis. Install redis-server 7 or newer, put it on the PATH, and run the command again.',
  )
}

const isCommand = (command) => succeeds([command, '--version'], 'ignore')

function succeeds([command, ...args], stdio) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(command, args, { stdio: ['ignore', stdio, stdio], env }).status === 0
}
