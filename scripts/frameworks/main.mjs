// Installs, builds and starts the app of each framework in examples/, and sends it requests.
// Arguments choose examples: `npm run test:frameworks -- hono express`.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startApp } from './app.mjs'
import { startModel } from './model.mjs'
import { probe } from './probe.mjs'
import { startLocal } from '@sluice/local'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))
const all = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const names = process.argv.slice(2)
const unknown = names.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`No example is named ${unknown.join(', ')}. There are: ${all.join(', ')}.`)
  process.exit(1)
}

const local = await startLocal()
const model = await startModel()
let passed = 0
let failed = 0
const waiting = names.length > 0 ? names : all
// Two at a time: one installs while the other builds.
await Promise.all([test(), test()])
await local.close()
model.close()
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** Tests the examples that wait, one after another. */
async function test() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const started = Date.now()
    const results = await run(name)
    const failures = results.filter(({ error }) => error)
    passed += results.length - failures.length
    failed += failures.length
    const seconds = Math.round((Date.now() - started) / 1_000)
    console.log(
      `${name}: ${results.length - failures.length} of ${results.length} hold, ${seconds} s`,
    )
    for (const { claim, error } of failures) console.log(`  ${claim}: ${error}`)
  }
}

async function run(name) {
  let app
  try {
    app = await startApp(`${folder}${name}`, { local, model })
    return await probe(app)
  } catch (error) {
    return [{ claim: 'installs, builds and starts', error: error.message }]
  } finally {
    await app?.stop()
  }
}
