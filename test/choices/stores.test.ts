import { createLimiter, manualClock, type Limiter } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { memory } from '@sluice/core/memory'
import { cancelById, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../support/stores.ts'
import { NOON } from '../support/times.ts'
import {
  answersOf,
  checkAtOnce,
  checkInTurn,
  choicesOf,
  limiterOn,
  POLICIES,
  TENANT,
} from './support.ts'

/** The tokens that are left of the budget and of two models. */
const left = async (limiter: Limiter): Promise<(number | undefined)[]> => {
  const looks = await Promise.all(
    ['m0', 'm1'].map((model) => limiter.peek({ ...TENANT, model }, { cost: { token: 0 } })),
  )
  const of = (at: number, policy: string) =>
    looks[at]?.policies.find((state) => state.name === policy)?.remaining
  return [of(0, 'budget'), of(0, 'tpm'), of(1, 'tpm')]
}

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it('chooses as if it were asked for one after another', async () => {
    const clocks = [manualClock(NOON), manualClock(NOON)] as const
    const inTurn = await answersOf(limiterOn(memory(), clocks[0]), clocks[0], checkInTurn)
    const atOnce = await answersOf(limiterOn(make(), clocks[1]), clocks[1], checkAtOnce)
    expect(atOnce).toEqual(inTurn)
    expect(inTurn.filter(({ allowed, choice }) => allowed && choice !== 0).length).toBeGreaterThan(
      8,
    )
    expect(inTurn.filter(({ allowed }) => !allowed).length).toBeGreaterThan(4)
  })

  const list = {
    choices: choices(
      choicesOf([
        [0, 50],
        [1, 40],
      ]),
    ),
  }

  it('never charges more of 32 at once than two models have room for', async () => {
    const limiter = createLimiter({ store: make(), policies: POLICIES })
    const two = {
      choices: choices(
        choicesOf([
          [0, 50],
          [1, 50],
        ]),
      ),
    }
    const calls = await Promise.all(Array.from({ length: 32 }, () => limiter.check(TENANT, two)))
    const chosen = calls.filter(({ allowed }) => allowed)
    expect(new Set(chosen.map(({ choice }) => choice))).toEqual(new Set([0, 1]))
    expect(chosen).toHaveLength(2)
    expect((await left(limiter))[0]).toBe(200)
  })

  it('settles and cancels the choice that was charged', async () => {
    const limiter = createLimiter({ store: make(), policies: POLICIES, clock: manualClock(NOON) })
    const first = await reserve(limiter, TENANT, list)
    const second = await reserve(limiter, TENANT, list)
    expect([first.choice, second.choice]).toEqual([0, 1])
    expect(await left(limiter)).toEqual([210, 10, 20])
    if (!first.allowed || !second.allowed) return
    expect(await second.settle({ token: 10 })).toMatchObject({ returned: { token: 30 } })
    expect(await left(limiter)).toEqual([240, 10, 50])
    expect(await first.cancel()).toMatchObject({ returned: { token: 50, request: 1 } })
    expect(await left(limiter)).toEqual([290, 60, 50])
  })

  it('chooses only what a share of each limit has room for', async () => {
    const limiter = createLimiter({ store: make(), policies: POLICIES, clock: manualClock(NOON) })
    const shared = {
      choices: choices(
        choicesOf([
          [0, 31],
          [1, 30],
        ]),
      ),
      maxShare: 0.5,
    }
    expect(await reserve(limiter, TENANT, shared)).toMatchObject({ allowed: true, choice: 1 })
    expect(await left(limiter)).toEqual([270, 60, 30])
  })

  it('gives back by id whichever choice was charged, once', async () => {
    const limiter = createLimiter({ store: make(), policies: POLICIES, clock: manualClock(NOON) })
    for (const [id, choice] of [
      ['job1', 0],
      ['job2', 1],
    ] as const) {
      expect(await reserve(limiter, TENANT, { ...list, id })).toMatchObject({ choice })
    }
    expect(await left(limiter)).toEqual([210, 10, 20])
    for (const id of ['job2', 'job1']) {
      const given = await cancelById(limiter, TENANT, { id, ...list })
      expect(given).toMatchObject({ applied: true, returned: { request: 1 } })
      const again = await cancelById(limiter, TENANT, { id, ...list })
      expect(again).toMatchObject({ applied: false, why: 'settled_before' })
    }
    const never = await cancelById(limiter, TENANT, { id: 'job3', ...list })
    expect(never).toMatchObject({ applied: false, why: 'nothing_charged' })
    expect(await left(limiter)).toEqual([300, 60, 60])
  })
})
