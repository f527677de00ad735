/* `npm run world -- --seed 7 --decisions 2000 --trace`: one world, or `--seeds 500` of them on all cores. */
import { parseArgs } from 'node:util'
import { World } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    decisions: { type: 'string', default: '2000' },
    trace: { type: 'boolean', default: false },
    from: { type: 'string', default: '0' },
  },
})

let failed = 0
const first = Number(values.seed)
for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
  const startedAt = performance.now()
  const outcome = await World.run(seed, {
    decisions: Number(values.decisions),
    keepsTrace: values.trace,
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const { setting, decisions, digest, violations, told, seen, trace } = outcome
  for (const line of trace.slice(Number(values.from))) console.log(line)
  console.log(
    `seed ${seed}: ${decisions} decisions, ${Math.round(decisions / seconds)}/s, ${setting.wrappers}, ${digest.slice(0, 12)}, ${violations.length} violations`,
  )
  if (values.trace) console.log(JSON.stringify({ setting, told, seen }, undefined, 2))
  for (const violation of violations) console.log(`  ${violation}`)
  if (violations.length > 0) failed += 1
}
if (failed > 0) process.exitCode = 1
