// Publishes the packages to a registry on this machine, as a release would, and follows the pages as a user would:
// each page to start with and `sluice init` in an empty folder, and the apps in examples/.
// Arguments choose: `npm run rehearse -- page:hono init:express example:astro`.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal } from '@sluice/local'
import { EXAMPLES } from '../start-pages.ts'
import { tryExample } from './example.mjs'
import { tryInstalled } from './installed.mjs'
import { startModel } from './model.mjs'
import { run } from './processes.mjs'
import { startRegistry } from './registry.mjs'
import { FRAMEWORKS, tryInit, tryPage } from './start.mjs'
import { NODES, tryVersion } from './versions.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const TRIES = {
  installed: tryInstalled,
  node: tryVersion,
  page: tryPage,
  init: tryInit,
  example: tryExample,
}
/** How many characters of an error stand once more at the end. */
const LAST_WORDS = 1_000
const all = [
  'installed:core',
  ...NODES.map((version) => `node:${version}`),
  ...Object.keys(FRAMEWORKS).flatMap((name) => [`page:${name}`, `init:${name}`]),
  ...EXAMPLES.map((name) => `example:${name}`),
]
const names = process.argv.slice(2)
const unknown = names.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}. There are: ${all.join(', ')}.`)
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-rehearsal-'))
const registry = await startRegistry()
const usersCache = await run(root, 'npm config get cache', {})
const env = { NPM_CONFIG_USERCONFIG: userConfig(), PATH: pathOfUser() }
const version = await publishAll()
const model = await startModel()
let passed = 0
const failures = []
const waiting = names.length > 0 ? names : all
try {
  // Two at a time: one installs while the other builds.
  await Promise.all([tryWaiting(), tryWaiting()])
} finally {
  model.close()
  registry.close()
  rmSync(folder, { recursive: true, force: true })
}
for (const each of failures) console.log(`FAILED ${each}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Tries what waits, one after another. */
async function tryWaiting() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const started = Date.now()
    const results = await tryTwice(name)
    const wrong = results.filter(({ error }) => error)
    passed += results.length - wrong.length
    const seconds = Math.round((Date.now() - started) / 1_000)
    console.log(`${name}: ${results.length - wrong.length} of ${results.length} hold, ${seconds} s`)
    for (const { claim, error } of wrong) {
      console.log(`  ${claim}: ${error}`)
      failures.push(`${name}: ${claim}: ${error.slice(-LAST_WORDS)}`)
    }
  }
}

/** Tries it, and once more if it could not be installed or started: others' servers have a part in that. */
async function tryTwice(name) {
  return tryOnce(name, 1).catch((error) => {
    console.log(`${name} is tried once more: ${error.message}`)
    return tryOnce(name, 2).catch(({ message }) => [
      { claim: 'installs, builds and starts', error: message },
    ])
  })
}

/** Tries it in a folder, with a cache and with counts of its own: the pages name the same tenant. */
async function tryOnce(name, attempt) {
  const [kind, what] = name.split(':')
  const own = join(folder, `${kind}-${what}-${attempt}`)
  mkdirSync(own)
  const local = await startLocal()
  try {
    const cache = ownCache(`${own}-cache`)
    return await TRIES[kind](own, what, {
      env: { ...env, npm_config_cache: cache },
      local,
      model,
      version,
    })
  } finally {
    await local.close()
    rmSync(own, { recursive: true, force: true })
    rmSync(`${own}-cache`, { recursive: true, force: true })
  }
}

/** Publishes each package by `npm publish`, and returns the version. */
async function publishAll() {
  const packages = readdirSync(join(root, 'packages'))
  for (const name of packages) {
    await run(join(root, 'packages', name), 'npm publish --ignore-scripts --loglevel error', env)
  }
  console.log(`published: ${registry.names().length} of ${packages.length} packages`)
  return JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8')).version
}

/**
 * Makes a cache that has what the user's has, but for the commands that `npx` has installed: those may be older ones,
 * and `npx` locks them while it installs.
 */
function ownCache(cache) {
  const users = join(usersCache.split('\n').at(-1), '_cacache')
  mkdirSync(cache)
  mkdirSync(users, { recursive: true })
  symlinkSync(users, join(cache, '_cacache'))
  return cache
}

/** Writes settings of npm that are the user's own, but for where our packages are. */
function userConfig() {
  const path = process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc')
  const own = join(folder, 'npmrc')
  let settings = ''
  try {
    settings = readFileSync(path, 'utf8')
  } catch {
    // A user need not have any.
  }
  const host = registry.url.replace('http:', '')
  writeFileSync(
    own,
    `${settings}\n@sluice:registry=${registry.url}\n${host}:_authToken=rehearsal\n`,
  )
  return own
}

/** The user's path, with the Node.js of this repository and none of its packages. */
function pathOfUser() {
  const folders = process.env.PATH.split(delimiter).filter((each) => !each.includes('node_modules'))
  return [dirname(process.execPath), ...folders].join(delimiter)
}
