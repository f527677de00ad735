import { spawnSync } from 'node:child_process'

/** The needs of the tests and the demo: commands, and their package by package manager. */
const NEEDS = {
  redis: {
    commands: ['redis-server', 'valkey-server'],
    packages: { 'apt-get': 'redis-server', apk: 'redis', dnf: 'redis', brew: 'redis' },
    title: 'a real Redis',
    remedy: 'Install redis-server 7 or newer',
  },
  browser: {
    commands: ['chromium', 'chromium-browser', 'google-chrome'],
    packages: { 'apt-get': 'chromium', apk: 'chromium', dnf: 'chromium', brew: 'chromium' },
    title: 'a browser',
    remedy: 'Install Chromium',
  },
  prometheus: {
    commands: ['prometheus'],
    packages: { 'apt-get': 'prometheus', apk: 'prometheus', dnf: 'prometheus', brew: 'prometheus' },
    title: 'Prometheus with promtool',
    remedy: 'Install prometheus 2.42 or newer',
  },
}

/** The arguments that install a package, by the name of the package manager. */
const INSTALLERS = {
  'apt-get': [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends'],
  ],
  apk: [['add']],
  dnf: [['install', '-y']],
  brew: [['install']],
}

/** Finds a Redis server on the PATH, or installs one. Throws an error that says what to do. */
export const ensureRedis = () => ensure('redis')

/**
 * Finds one of a need's commands on the PATH, or installs it, and returns the command's name.
 * Throws an error that says what to do.
 *
 * @param {keyof typeof NEEDS} name
 */
export function ensure(name) {
  const { commands, packages, title, remedy } = NEEDS[name]
  const found = commands.find(isCommand)
  if (found) return found
  for (const [manager, steps] of Object.entries(INSTALLERS)) {
    if (!isCommand(manager)) continue
    console.log(`No ${commands[0]} on the PATH: installing one with ${manager}.`)
    const calls = [...steps.slice(0, -1), [...steps.at(-1), packages[manager]]]
    const failed = calls.find((call) => !succeeds([manager, ...call], 'inherit'))
    const installed = failed ? undefined : commands.find(isCommand)
    if (installed) return installed
    throw new Error(
      `The tests need ${title}, and "${[manager, ...(failed ?? calls.at(-1))].join(' ')}" did not install it. ` +
        `${remedy}, put it on the PATH, and run the command again.`,
    )
  }
  throw new Error(
    `The tests need ${title}. ${remedy}, put it on the PATH, and run the command again.`,
  )
}

const isCommand = (command) => succeeds([command, '--version'], 'ignore')

function succeeds([command, ...args], stdio) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(command, args, { stdio: ['ignore', stdio, stdio], env }).status === 0
}
