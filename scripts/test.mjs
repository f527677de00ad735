// Installs and builds what the tests need, then runs them: `npm test`, or a suite of test/suites.ts by its
// name. Further arguments go to vitest: `npm test -- test/docs`. Files that are named need less built.
import { spawnSync } from 'node:child_process'
import { SUITES } from '../test/suites.ts'
import { ensure, ensureRedis } from './ensure.mjs'
import { needsOf, testsNamed } from './needs.ts'

const [first, ...rest] = process.argv.slice(2)
const suite = Object.hasOwn(SUITES, first) ? first : undefined
const args = suite ? rest : process.argv.slice(2)
const env = { ...process.env }
// Files that are named run whatever suite they are of.
const named = testsNamed(args.filter((arg) => arg.startsWith('test/')))
if (named.length > 0 || suite) env.TEST_SUITE = named.length > 0 ? 'all' : suite
const needs = named.length > 0 ? needsOf(named) : { builds: [], cluster: true }
if (!needs.cluster) env.TEST_CLUSTER = 'none'
// A part of the files, such as `2/3`, for a gate that parts a suite.
if (env.TEST_SHARD) args.push(`--shard=${env.TEST_SHARD}`)
const filters = needs.builds.map((name) => `--filter=${name}`)

try {
  ensureRedis()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
const missing = []
for (const need of SUITES[suite]?.needs ?? []) {
  try {
    // `test/observability/support.ts` reads these.
    env[`TEST_${need.toUpperCase()}`] = ensure(need)
  } catch (error) {
    missing.push(error.message)
  }
}
// A gate that runs two suites side by side has built all before, and says so.
const isBuilt = Boolean(env.TEST_BUILT)
const status =
  (!isBuilt && run('turbo', ['run', 'build', ...filters, '--output-logs=errors-only'])) ||
  run('vitest', ['run', ...args])
for (const message of missing) console.error(`NOT TESTED. ${message}`)
process.exit(status)

function run(command, commandArgs) {
  const options = { stdio: ['ignore', 'inherit', 'inherit'], env }
  return spawnSync(command, commandArgs, options).status ?? 1
}
