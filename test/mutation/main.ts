/*
 * `npm run mutation -- --seed 1 --mutants 150`: puts mistakes into the built packages, one at a time, and tells who
 * notices them. The results are kept in a file, so that a run which was ended goes on; `--again` asks once more about
 * those that nobody noticed.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readOptions, whole } from '../world/command.ts'
import { drawMutants, idOf, type Mutant } from './draw.ts'
import { Bench, type Judge, type Verdict } from './judge.ts'

const values = readOptions({ seed: '1', mutants: '150', log: 'mutation.jsonl', again: false })
const [seed, count] = [whole('seed', values.seed), whole('mutants', values.mutants)]
const root = fileURLToPath(new URL('../../', import.meta.url))

interface Line extends Verdict {
  readonly id: string
  readonly operator: string
}

const known = new Map<string, Line>()
if (existsSync(values.log)) {
  for (const text of readFileSync(values.log, 'utf8').split('\n')) {
    if (text === '') continue
    const line = JSON.parse(text) as Line
    if (line.judge !== 'nobody' || !values.again) known.set(line.id, line)
  }
}
writeFileSync(values.log, [...known.values()].map((line) => `${JSON.stringify(line)}\n`).join(''))

const drawn = drawMutants(root, seed, count)
const left = drawn.filter((mutant) => !known.has(idOf(mutant)))
console.log(`${drawn.length} mutants, ${drawn.length - left.length} of them known`)
if (left.length > 0) await judgeAll(left)
report()

async function judgeAll(mutants: Mutant[]): Promise<void> {
  const benches = Array.from({ length: availableParallelism() }, () => new Bench(root))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      for (const bench of benches) bench.close()
      process.exit(130)
    })
  }
  try {
    const calm = await benches[0]?.judgeNothing()
    if (calm?.judge !== 'nobody') throw new Error(`fails without a mutant: ${calm?.because}`)
    await Promise.all(
      benches.map(async (bench) => {
        for (let mutant = mutants.shift(); mutant; mutant = mutants.shift()) {
          // oxlint-disable-next-line no-await-in-loop -- One at a time in each copy.
          const verdict = await bench.judge(mutant)
          const line = { id: idOf(mutant), operator: mutant.mutation.operator, ...verdict }
          known.set(line.id, line)
          appendFileSync(values.log, `${JSON.stringify(line)}\n`)
          console.log(`${line.judge}: ${line.id}\n  ${line.because}`)
        }
      }),
    )
  } finally {
    for (const bench of benches) bench.close()
  }
}

function report(): void {
  const lines = drawn.flatMap((mutant) => known.get(idOf(mutant)) ?? [])
  const countOf = (judge: Judge): number => lines.filter((line) => line.judge === judge).length
  for (const { judge, id } of lines) if (judge === 'nobody') console.log(`nobody: ${id}`)
  for (const judge of ['room', 'world', 'proofs', 'nobody'] as const) {
    console.log(`${judge}: ${countOf(judge)}`)
  }
}
