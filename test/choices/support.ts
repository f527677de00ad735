import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Extension,
  type Limiter,
  type ManualClock,
  type OnStoreError,
  type Policy,
  type Store,
} from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { expect } from 'vitest'

/** One choice of a table: the number of its model, and its tokens. */
export type Pair = readonly [model: number, token: number]

export const TENANT = { tenant: 'acme' }

/** A budget of all models, and a window and a bucket of each. */
export const POLICIES: readonly Policy[] = [
  fixedWindow({ name: 'budget', limit: 300, window: '1h', per: ['tenant'], unit: 'token' }),
  slidingWindow({ name: 'rpm', limit: 4, window: '1m', per: ['tenant', 'model'] }),
  tokenBucket({ name: 'tpm', limit: 60, window: '1m', per: ['tenant', 'model'], unit: 'token' }),
]

export const limiterOn = (
  store: Store,
  clock: ManualClock,
  policies = POLICIES,
  extensions: readonly Extension[] = [],
  onStoreError: OnStoreError = 'deny',
): Limiter => createLimiter({ store, clock, policies, extensions, onStoreError })

export const choicesOf = (pairs: readonly Pair[]) =>
  pairs.map(([model, token]) => ({ subject: { model: `m${model}` }, cost: { token } }))

/** Lists of choices that fall from model to model until nothing fits, and come back: the same each time. */
export const HISTORY: readonly { readonly waitMs: number; readonly pairs: readonly Pair[] }[] =
  Array.from({ length: 48 }, (_, at) => ({
    waitMs: at % 16 === 15 ? 31_000 : at % 5 === 4 ? 700 : 0,
    pairs: Array.from({ length: 1 + (at % 4) }, (__, position): Pair => [
      position,
      1 + ((at * 7 + position * 5) % 9),
    ]),
  }))

/** An answer as far as stores may not differ. */
export interface Answer {
  readonly choice: number | undefined
  readonly allowed: boolean
  readonly reason: string | undefined
  readonly retryAfterMs: number | null
  readonly states: unknown
}

const answerOf = (decision: Decision, choice: number | undefined): Answer => {
  const { allowed, reason, retryAfterMs, policies } = decision
  return { choice, allowed, reason, retryAfterMs, states: policies }
}

/** Checks the choices in one decision. @param mode The one to which it is degraded. */
export async function checkAtOnce(
  limiter: Limiter,
  pairs: readonly Pair[],
  mode?: 'deny' | 'local' | 'allow',
): Promise<Answer> {
  const decision = await limiter.check(TENANT, { choices: choices(choicesOf(pairs)) })
  expect(decision.degraded?.mode).toBe(mode)
  return answerOf(decision, decision.choice)
}

/** Checks one choice after the other: a denial changes nothing. */
export async function checkInTurn(limiter: Limiter, pairs: readonly Pair[]): Promise<Answer> {
  const denials: Decision[] = []
  for (const [choice, { subject, cost }] of choicesOf(pairs).entries()) {
    const decision = await limiter.check({ ...TENANT, ...subject }, { cost })
    if (decision.allowed) return answerOf(decision, choice)
    denials.push(decision)
  }
  const waits = denials.map(({ retryAfterMs }) => retryAfterMs ?? Infinity)
  const soonest = waits.indexOf(Math.min(...waits))
  return answerOf(denials[soonest] as Decision, soonest)
}

/** Answers a history, as `ask` does. */
export async function answersOf(
  limiter: Limiter,
  clock: ManualClock,
  ask: typeof checkAtOnce,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const { waitMs, pairs } of HISTORY) {
    clock.advance(waitMs)
    answers.push(await ask(limiter, pairs))
  }
  return answers
}

/** The questions to a store. */
export interface Asked {
  checks: number
  runs: number
  /** Calls of either kind, of each decision. */
  readonly trips: number[]
}

/** Wraps a store so that its calls are counted. A method of three, if it is to know no others. */
export function counted(inner: Store): { readonly store: Store; readonly asked: Asked } {
  const asked: Asked = { checks: 0, runs: 0, trips: [] }
  return {
    asked,
    store: {
      ...inner,
      check(request) {
        asked.checks += 1
        return inner.check(request)
      },
      run(operation) {
        asked.runs += 1
        return inner.run(operation)
      },
    },
  }
}
