/*
 * `npm run world -- --seed 7 --decisions 2000 --trace`: one world, or `--seeds 500` of them on all cores. A world
 * that fails is made small, and the command that shows it is printed.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WRAPPERS, type Setting, type WrapperName } from './setting.ts'
import { shrink } from './shrink.ts'
import { World, type WorldOptions } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    decisions: { type: 'string', default: '2000' },
    wrappers: { type: 'string' },
    replace: { type: 'string', default: '{}' },
    trace: { type: 'boolean', default: false },
    from: { type: 'string', default: '0' },
    worker: { type: 'string' },
    workers: { type: 'string' },
  },
})
if (values.wrappers !== undefined && !Object.hasOwn(WRAPPERS, values.wrappers)) {
  console.error(`--wrappers must be one of: ${Object.keys(WRAPPERS).join('; ')}`)
  process.exit(2)
}
const [first, count] = [whole('seed', values.seed), whole('seeds', values.seeds)]
const options: WorldOptions = {
  decisions: whole('decisions', values.decisions),
  keepsTrace: values.trace,
  replace: {
    ...(JSON.parse(values.replace) as Partial<Setting>),
    ...(values.wrappers !== undefined && { wrappers: values.wrappers as WrapperName }),
  },
}

if (values.worker === undefined && count > 1) await runOnAllCores()
else {
  const [place, of] = [Number(values.worker ?? 0), Number(values.workers ?? 1)]
  for (let seed = first + place; seed < first + count; seed += of) await runOne(seed)
}

/** Runs a part of the seeds in a process for each core. */
async function runOnAllCores(): Promise<void> {
  const workers = availableParallelism()
  const codes = await Promise.all(
    Array.from({ length: workers }, (_, worker) => {
      const args = [...process.argv.slice(2), '--worker', `${worker}`, '--workers', `${workers}`]
      const child = fork(fileURLToPath(import.meta.url), args, { stdio: 'inherit' })
      return new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
    }),
  )
  process.exitCode = Math.max(...codes)
}

async function runOne(seed: number): Promise<void> {
  const startedAt = performance.now()
  const outcome = await World.run(seed, options)
  const perSecond = Math.round((outcome.decisions * 1_000) / (performance.now() - startedAt))
  const { setting, decisions, digest, violations, callers, server, trace } = outcome
  for (const line of trace.slice(whole('from', values.from))) console.log(line)
  const facts = [
    `${decisions} decisions`,
    `${perSecond} a second`,
    setting.wrappers,
    digest.slice(0, 12),
  ]
  console.log(`seed ${seed}: ${facts.join(', ')}, ${violations.length} violations`)
  if (values.trace) console.log(JSON.stringify({ setting, callers, server }, undefined, 2))
  if (violations.length === 0) return
  process.exitCode = 1
  for (const violation of violations.slice(0, 5)) console.log(`  ${violation}`)
  if (values.trace) return
  const small = await shrink(outcome, options)
  console.log(`  made small in ${small.tried} worlds: ${small.outcome.violations[0]}`)
  const replace = JSON.stringify(small.options.replace ?? {})
  console.log(
    `  npm run world -- --seed ${seed} --decisions ${small.options.decisions} --replace '${replace}' --trace`,
  )
}

function whole(name: string, text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 0) return number
  throw new Error(`--${name} must be a whole number`)
}
