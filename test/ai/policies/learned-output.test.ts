import { learnedOutput, modelHandler, type LearnedOutput } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'

const ACME = { tenant: 'acme' }
const MOST = 4_096

/** Learns from answers of these lengths. */
function learn(learned: LearnedOutput, ...outputs: number[]): void {
  for (const output of outputs) learned.observe(ACME, 'gpt-4o', output)
}
const times = (count: number, output: number): number[] =>
  Array.from({ length: count }, () => output)
const expected = (learned: LearnedOutput): number | undefined =>
  learned.expect(ACME, 'gpt-4o', MOST)

describe('what is learned of answers', () => {
  it('is nothing until fifty were seen, and then as much as nearly all of them had', () => {
    const learned = learnedOutput()
    learn(learned, ...times(49, 100))
    expect(expected(learned)).toBeUndefined()
    learn(learned, 100)
    // Lengths are kept in steps of a fifth.
    expect(expected(learned)).toBeGreaterThanOrEqual(100)
    expect(expected(learned)).toBeLessThan(120)
  })

  it('is never more than the maximum, and never below the 99th percentile by more than a step', () => {
    const learned = learnedOutput()
    const outputs = Array.from({ length: 900 }, (_, index) => 1 + ((index * 7_919) % 6_000))
    learn(learned, ...outputs)
    const exact = outputs.toSorted((a, b) => a - b)[Math.ceil(900 * 0.99) - 1] ?? 0
    expect(learned.expect(ACME, 'gpt-4o', 10 ** 6)).toBeGreaterThanOrEqual(exact)
    expect(learned.expect(ACME, 'gpt-4o', 10 ** 6)).toBeLessThan(exact * 1.2)
    expect(expected(learned)).toBe(MOST)
  })

  it('rises at once with an answer that was longer, however many short ones came before', () => {
    const learned = learnedOutput()
    learn(learned, ...times(5_000, 10))
    expect(expected(learned)).toBeLessThan(13)
    learn(learned, 3_000)
    expect(expected(learned)).toBe(3_000)
    learn(learned, ...times(99, 10))
    expect(expected(learned)).toBe(3_000)
    learn(learned, 10)
    expect(expected(learned)).toBeLessThan(13)
  })

  it('is that of each tenant and each model', () => {
    const learned = learnedOutput()
    learn(learned, ...times(50, 10))
    expect(learned.expect({ tenant: 'other' }, 'gpt-4o', MOST)).toBeUndefined()
    expect(learned.expect(ACME, 'gpt-4o-mini', MOST)).toBeUndefined()
  })

  it('is kept of ten thousand tenants at most', () => {
    const learned = learnedOutput({ after: 1 })
    learn(learned, 10)
    for (let index = 0; index < 10_000; index += 1) {
      learned.observe({ tenant: `t${index}` }, 'gpt-4o', 10)
    }
    expect(expected(learned)).toBeUndefined()
    expect(learned.expect({ tenant: 't0' }, 'gpt-4o', MOST)).toBe(12)
  })
})

const answerOf = (completion_tokens: number): Response =>
  Response.json({
    model: 'gpt-4o',
    choices: [{ message: { content: 'Because.' } }],
    usage: { prompt_tokens: 20, completion_tokens },
  })

async function settled(limiter: Limiter): Promise<void> {
  await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
}

/** A handler that has seen five answers of 100 tokens. */
async function trained(answer: () => Response | Promise<Response>) {
  const limiter = limiterOf()
  let next: (() => Response | Promise<Response>) | undefined
  const sent: string[] = []
  let held = 0
  const handle = modelHandler(
    limiter,
    {
      subject,
      api: 'openai-chat' as const,
      prices: PRICES,
      learn: learnedOutput({ after: 5 }),
      onError: () => undefined,
    },
    async ({ body }) => {
      sent.push(body)
      held = await used(limiter, 'budget.daily')
      return next?.() ?? answerOf(100)
    },
  )
  const call = async (): Promise<void> => {
    await (await handle(post(QUESTION))).text()
    await settled(limiter)
  }
  for (let time = 0; time < 5; time += 1) await call()
  const before = await used(limiter, 'budget.daily')
  next = answer
  await call()
  const spent = (await used(limiter, 'budget.daily')) - before
  return { held: held - before, spent, sent }
}
describe('a model handler that learns', () => {
  it('reserves what answers had, and sends the maximum all the same', async () => {
    const { held, spent, sent } = await trained(() => answerOf(100))
    // A token of output is ten micro-dollars: 4,096 of them would be 40,960.
    expect(held).toBeLessThan(1_300)
    expect(spent).toBe(1_020)
    expect(sent.at(-1)).toContain('"max_completion_tokens":4096')
  })

  it('charges a longer answer in full', async () => {
    const { spent } = await trained(() => answerOf(4_000))
    expect(spent).toBe(40_020)
  })

  it('charges an answer whose usage is not told, or that never came, at its maximum', async () => {
    expect((await trained(() => Response.json({ choices: [] }))).spent).toBeGreaterThan(40_960)
    expect((await trained(() => Promise.reject(new Error('gone')))).spent).toBeGreaterThan(40_960)
  })
})

describe('a mistake in what is to be learned', () => {
  const make = loosely(learnedOutput)
  const limiter = limiterOf()
  mistakesAreNamed([
    ['an unknown option', () => make({ share: 9 }), 'learnedOutput.share', 'unknown_option'],
    ['a percentile of 40', () => make({ percentile: 40 }), 'learnedOutput.percentile'],
    ['a dimension instead of a list', () => make({ per: 'tenant' }), 'learnedOutput.per'],
    ['no answers', () => make({ after: 0 }), 'learnedOutput.after'],
    [
      'together with minOutput',
      () => {
        const options = {
          subject,
          api: 'openai-chat' as const,
          prices: PRICES,
          learn: learnedOutput(),
          minOutput: 100,
        }
        return modelHandler(limiter, options, () => new Response())
      },
      'modelHandler.learn',
    ],
  ])
})
