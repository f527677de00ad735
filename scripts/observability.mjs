// Installs what the slow tests of what operators see need, then runs them. What cannot be installed
// is named at the end; its tests are skipped. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { ensure, ensureRedis } from './ensure.mjs'

const env = { ...process.env }
const missing = []
ensureRedis()
// `test/observability/support.ts` reads these.
for (const [need, variable] of [
  ['browser', 'TEST_BROWSER'],
  ['prometheus', 'TEST_PROMETHEUS'],
]) {
  try {
    env[variable] = ensure(need)
  } catch (error) {
    missing.push(error.message)
  }
}
const built = run('turbo', ['run', 'build', '--output-logs=errors-only'])
const config = ['--config', 'vitest.observability.config.ts']
const status = built || run('vitest', ['run', ...config, ...process.argv.slice(2)])
for (const message of missing) console.error(`NOT TESTED. ${message}`)
process.exit(status)

function run(command, args) {
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env }).status ?? 1
}
