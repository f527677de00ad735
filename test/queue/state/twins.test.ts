import type { LuaOperationKind, Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ADD,
  EDIT,
  LOOK,
  operationOf,
  TURN,
} from '../../../packages/queue/dist/state/operations.js'
import type { Result } from '../../../packages/queue/dist/state/requests.js'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

/** One step of a history: what is asked of a queue, some time after the step before. */
type Step = { readonly ms: number } & (
  | {
      readonly act: 'add'
      readonly job: number
      readonly flow: number
      readonly length: number
      readonly priority: number
      readonly delayMs: number
      readonly waitMs: number
    }
  | { readonly act: 'turn'; readonly most: number; readonly results: readonly StepResult[] }
  | { readonly act: 'edit'; readonly kind: 'remove' | 'retry'; readonly job: number }
  | { readonly act: 'look' }
)

/** The report on the claimed job of this number, the latest first. */
interface StepResult {
  readonly at: number
  readonly kind: 'done' | 'settled' | 'failed' | 'back' | 'running'
  readonly ms: number
  readonly isYes: boolean
  readonly who: 'flow' | 'queue' | 'nobody'
}

const some = fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(100_000))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('add' as const),
      ms: fc.nat(50),
      job: fc.nat(40),
      flow: fc.nat(4),
      length: fc.integer({ min: 1, max: 5_000 }),
      priority: fc.nat(9),
      delayMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(5_000)),
      waitMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(20_000)),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('turn' as const),
      ms: some,
      most: fc.nat(4),
      results: fc.array(
        fc.record({
          at: fc.nat(6),
          kind: fc.constantFrom('done', 'settled', 'failed', 'back', 'running'),
          ms: fc.integer({ min: 1, max: 8_000 }),
          isYes: fc.boolean(),
          who: fc.constantFrom('flow', 'queue', 'nobody'),
        }),
        { maxLength: 4 },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('edit' as const),
      ms: fc.nat(10),
      kind: fc.constantFrom('remove', 'retry'),
      job: fc.nat(40),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('look' as const), ms: fc.nat(10) }) },
)

const resultOf = (
  { kind, ms, isYes, who }: StepResult,
  job: { readonly id: string; readonly claim: number },
): Result => {
  if (kind === 'failed') {
    const held = isYes ? '{"held":"by | me"}' : ''
    return { ...job, kind, delayMs: ms, isFinal: ms % 7 === 0, held, error: 'no | luck\n' }
  }
  if (kind === 'done') return { ...job, kind, settlement: `settle ${ms}` }
  return kind === 'back'
    ? { ...job, kind, who, delayMs: ms, isClean: isYes, held: ms % 3 === 0 ? 'held | too' : '' }
    : { ...job, kind }
}

/** Returns what a store answers to a history. */
async function answersOf(store: Store, steps: readonly Step[]): Promise<unknown[]> {
  const answers: unknown[] = []
  const claimed: { id: string; claim: number }[] = []
  let now = Date.UTC(2026, 0, 15)
  const ask = async <Answer, Data>(
    kind: LuaOperationKind<Answer, Data>,
    data: Omit<Data, 'now' | 'clockIsInjected'>,
  ): Promise<Answer> => {
    const whole = { ...data, now, clockIsInjected: true } as Data
    const answer = await store.run(operationOf(kind, 'q', whole))
    answers.push(answer)
    return answer
  }
  for (const one of steps) {
    now += one.ms
    if (one.act === 'add') {
      const { job, flow, ...rest } = one
      const id = `job-${job}`
      const jobs = [{ ...rest, id, flow: `tenant=t${flow}`, payload: `payload of ${job}` }]
      await ask(ADD, { jobs, maxJobs: 12 })
    } else if (one.act === 'turn') {
      const results = one.results.flatMap((result) => {
        const job = claimed.at(-1 - result.at)
        return job ? [resultOf(result, job)] : []
      })
      const options = { leaseMs: 30_000, maxAttempts: 3, keepDeadMs: 60_000 }
      const turn = await ask(TURN, { most: one.most, results, ...options })
      claimed.push(...turn.claimed.map(({ id, claim }) => ({ id, claim })))
    } else if (one.act === 'edit') {
      await ask(EDIT, { kind: one.kind, ids: [`job-${one.job}`, 'nobody'] })
    } else await ask(LOOK, { from: 0, count: 3 })
  }
  await ask(LOOK, { from: 0, count: 100 })
  return answers
}

const WORDS = ['failed', 'full', 'gone', 'known', 'lost', 'taken', 'waited_too_long']

describe('the state of a queue', () => {
  it('is the same in memory and in Redis after any history', { timeout: 240_000 }, async () => {
    const seen = new Set<string>()
    const histories = fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 150 }),
      async (steps) => {
        const [here, there] = await Promise.all([
          answersOf(memory(), steps),
          answersOf(shared.store(), steps),
        ])
        expect(there).toEqual(here)
        const text = JSON.stringify(here)
        for (const [, word = ''] of text.matchAll(
          /"(failed|full|gone|known|lost|taken|waited_too_long)\b/g,
        ))
          seen.add(word)
      },
    )
    await fc.assert(histories, { numRuns: 200 })
    // Otherwise the histories would say little.
    expect([...seen].toSorted()).toEqual(WORDS)
  })
})
