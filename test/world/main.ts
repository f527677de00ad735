/*
 * `npm run world -- --seed 7 --decisions 2000 --trace`: one world, or `--seeds 500` of them on all cores. A world
 * that fails is made small, and the command that shows it is printed.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readOptions, refuse, whole } from './command.ts'
import { Random } from './random.ts'
import { WRAPPERS, type WrapperName } from './wrappers.ts'
import { settingOf, type Setting } from './setting.ts'
import { shrink } from './shrink.ts'
import { World, type WorldOptions } from './world.ts'

const values = readOptions({
  seed: '1',
  seeds: '1',
  decisions: '2000',
  wrappers: '',
  replace: '{}',
  trace: false,
  from: '0',
  // Given by the command itself to its processes.
  worker: '0',
  workers: '0',
})
const [first, count] = [whole('seed', values.seed), whole('seeds', values.seeds)]
const [worker, workers] = [whole('worker', values.worker, 0), whole('workers', values.workers, 0)]
const from = whole('from', values.from, 0)
const options: WorldOptions = {
  decisions: whole('decisions', values.decisions),
  keepsTrace: values.trace,
  replace: replacements(),
}

if (workers === 0 && count > 1) await runOnAllCores()
else {
  const step = Math.max(1, workers)
  for (let seed = first + worker; seed < first + count; seed += step) await runOne(seed)
}

/** Reads what replaces drawn parts of the setting. */
function replacements(): Partial<Setting> {
  const { wrappers } = values
  if (wrappers !== '' && !Object.hasOwn(WRAPPERS, wrappers)) {
    refuse(`--wrappers must be one of: ${Object.keys(WRAPPERS).join('; ')}`)
  }
  let replaced: unknown
  try {
    replaced = JSON.parse(values.replace)
  } catch {
    // Said below.
  }
  const names = Object.keys(settingOf(1, new Random(1)))
  const isObject = typeof replaced === 'object' && replaced !== null && !Array.isArray(replaced)
  if (!isObject || !Object.keys(replaced as object).every((name) => names.includes(name))) {
    refuse(`--replace must be an object in JSON, with only "${names.join('", "')}"`)
  }
  return { ...(replaced as object), ...(wrappers !== '' && { wrappers: wrappers as WrapperName }) }
}

/** Runs a part of the seeds in a process for each core. */
async function runOnAllCores(): Promise<void> {
  const cores = availableParallelism()
  const codes = await Promise.all(
    Array.from({ length: cores }, (_, core) => {
      const args = [...process.argv.slice(2), '--worker', `${core}`, '--workers', `${cores}`]
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
  for (const line of trace.slice(from)) console.log(line)
  const facts = [
    `${decisions} decisions`,
    `${perSecond} a second`,
    setting.wrappers,
    ...(server.balances > 0 ? [`${server.balances} of balances`] : []),
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
