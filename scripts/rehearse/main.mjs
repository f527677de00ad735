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
const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
const all = [
  'installed:core',
  ...NODES.map((version) => `node:${version}`),
  ...Object.keys(FRAMEWORKS).flatMap((name) => [`page:${name}`, `init:${name}`]),
  ...examples.filter((entry) => entry.isDirectory()).map(({ name }) => `example:${name}`),
]
const names = process.argv.slice(2)
const unknown = names.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}. There are: ${all.join(', ')}.`)
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-rehearsal-'))
const registry = await startRegistry()
const env = {
  NPM_CONFIG_USERCONFIG: userConfig(),
  npm_config_cache: await ownCache(),
  PATH: pathOfUser(),
}
const version = await publishAll()
const model = await startModel()
const context = { env, model, version }
let passed = 0
let failed = 0
const waiting = names.length > 0 ? names : all
try {
  // Two at a time: one installs while the other builds.
  await Promise.all([tryWaiting(), tryWaiting()])
} finally {
  model.close()
  registry.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** Tries what waits, one after another. */
async function tryWaiting() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const [kind, what] = name.split(':')
    const own = join(folder, name.replace(':', '-'))
    mkdirSync(own)
    const started = Date.now()
    // Each has counts of its own: the pages name the same tenant.
    const local = await startLocal()
    const results = await TRIES[kind](own, what, { ...context, local }).catch((error) => [
      { claim: 'installs, builds and starts', error: error.message },
    ])
    await local.close()
    const failures = results.filter(({ error }) => error)
    passed += results.length - failures.length
    failed += failures.length
    const seconds = Math.round((Date.now() - started) / 1_000)
    console.log(
      `${name}: ${results.length - failures.length} of ${results.length} hold, ${seconds} s`,
    )
    for (const { claim, error } of failures) console.log(`  ${claim}: ${error}`)
    rmSync(own, { recursive: true, force: true })
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

/** Makes a cache that has what the user's has, but for the commands that `npx` has installed: ours may be older ones. */
async function ownCache() {
  const cache = join(folder, 'cache')
  const users = (await run(root, 'npm config get cache', {})).split('\n').at(-1)
  mkdirSync(cache)
  mkdirSync(join(users, '_cacache'), { recursive: true })
  symlinkSync(join(users, '_cacache'), join(cache, '_cacache'))
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
