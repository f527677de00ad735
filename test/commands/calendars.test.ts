import { createLimiter, dailyCap, manualClock, monthlyCap, type Policy } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { reserve } from '@sluice/core/reservations'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { inProcessRest, type InProcessRest } from '../support/in-process-rest.ts'
import { freshPrefix } from '../support/stores.ts'
import { DAY, NOON } from '../support/times.ts'
import { ACME, own, settling } from './support.ts'

const per = ['tenant'] as const
const resets = calendar({ zone: 'Europe/Berlin', on: { hour: 6 } })
const moving = calendar({ zone: () => 'Europe/Berlin' })

/** A policy without a calendar, and the same with one. */
const PAIRS: Readonly<
  Record<string, readonly [(limit: number) => Policy, (limit: number) => Policy]>
> = {
  'a day': [
    (limit) => dailyCap({ name: 'daily', limit, per }),
    (limit) => dailyCap({ name: 'daily', limit, per, resets }),
  ],
  'a month': [
    (limit) => monthlyCap({ name: 'monthly', limit, per }),
    (limit) =>
      monthlyCap({ name: 'monthly', limit, per, resets: calendar({ zone: 'Asia/Tokyo' }) }),
  ],
  'a day of a zone by the subject': [
    (limit) => dailyCap({ name: 'daily', limit, per }),
    (limit) => dailyCap({ name: 'daily', limit, per, resets: moving }),
  ],
}

/** The commands of each decision, by Redis' own clock. */
async function commandsOf(policy: (limit: number) => Policy) {
  const limiter = createLimiter({ store: own.store(), policies: [policy(6)] })
  await limiter.peek({ tenant: 'warm' })
  const acts = {
    first: () => limiter.check(ACME),
    allowed: () => limiter.check(ACME),
    peek: () => limiter.peek(ACME),
    denied: () => limiter.check(ACME, { cost: 6 }),
    'denied for ever': () => limiter.check(ACME, { cost: 7 }),
    reserved: () => reserve(limiter, ACME, { cost: 2 }),
    reset: () => limiter.reset(ACME),
  }
  const commands: Record<string, unknown> = {}
  for (const [act, run] of Object.entries(acts)) {
    const { calls } = await own.meter.measure(run)
    // A script is loaded once for a process.
    commands[act] = Object.fromEntries([...calls].filter(([name]) => !name.startsWith('script')))
  }
  for (const actual of [1, 3, 5]) {
    const { calls } = await settling([policy(6)], actual)
    commands[`settled at ${actual} of 3`] = Object.fromEntries(calls)
  }
  return commands
}

describe('a limit with a calendar', () => {
  it.each(Object.entries(PAIRS))('takes no other command than one without: %s', async (_, pair) => {
    const [without, withOne] = pair
    expect(await commandsOf(withOne)).toEqual(await commandsOf(without))
  })

  it('takes one call more, once, in a process whose clock is wrong by days', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * DAY })
    onTestFinished(() => void vi.useRealTimers())
    const policies = [dailyCap({ name: 'daily', limit: 6, per, resets })]
    const wrong = createLimiter({ store: own.store(), policies })
    const calls = async () =>
      (await own.meter.measure(() => wrong.check(ACME))).calls.get('evalsha')
    expect([await calls(), await calls()]).toEqual([2, 1])
  })
})

describe('the bytes of a decision', () => {
  const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
  let rest: InProcessRest
  beforeAll(async () => {
    rest = await inProcessRest(inject('redisUrl'))
  })
  afterAll(() => rest.close())

  /** Returns the bytes that one decision sends, once its script is known. */
  async function bytesOf(policy: Policy): Promise<number> {
    const { database } = rest
    let bytes = 0
    const fetch: NonNullable<UpstashOptions['fetch']> = (url, init) => {
      bytes = init.body.length
      return database.fetch(url, init)
    }
    const store = upstash({
      ...database,
      prefix: freshPrefix().padEnd(40, '-'),
      timeoutMs: 30_000,
      fetch,
    })
    const limiter = createLimiter({ store, policies: [policy], clock: manualClock(NOON) })
    for (let time = 0; time < 2; time += 1) await limiter.check(ACME)
    return bytes
  }

  it('that a calendar adds are those on the page', async () => {
    const [without, withOne] = PAIRS['a day']!
    const more = (await bytesOf(withOne(60))) - (await bytesOf(without(60)))
    const stated = /sends (\d+) bytes more for each policy with a \[calendar\]/.exec(page)
    expect(more).toBe(Number(stated?.[1]))
  })
})
