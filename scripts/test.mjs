// Installs and builds what the tests need, then runs them. Arguments go to vitest:
// `npm test -- test/docs`.
import { spawnSync } from 'node:child_process'
import { ensureRedis } from './ensure.mjs'

try {
  ensureRedis()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
run('turbo', ['run', 'build', '--output-logs=errors-only'])
run('vitest', ['run', ...process.argv.slice(2)])

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
