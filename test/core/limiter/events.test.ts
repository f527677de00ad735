import {
  defineExtension,
  fixedWindow,
  listen,
  StoreError,
  type LimiterEvents,
  type Listeners,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ACME, setUp, type SetUpOptions } from '../../support/limiters.ts'
import { plans, rpm } from './support.ts'

const EVENTS = [
  'decision',
  'degraded',
  'storeCall',
  'threshold',
  'shadow',
  'reserved',
  'settled',
  'abandoned',
  'problem',
] as const satisfies readonly (keyof LimiterEvents)[]

type ReceivedEvent = readonly [name: string, event: unknown]

/** Listeners to everything, and what they are told. */
function listening(): { on: Listeners; received: ReceivedEvent[] } {
  const received: ReceivedEvent[] = []
  const listeners = EVENTS.map((name) => [
    name,
    (event: unknown) => void received.push([name, event]),
  ])
  return { on: Object.fromEntries(listeners) as Listeners, received }
}

const down = () => Promise.reject(new StoreError('store_unreachable', 'down'))

/** The facts of a policy in the event of a settlement. */
const correction = (reserved: number, actual: number): unknown =>
  expect.objectContaining({
    policy: expect.objectContaining({ name: 'rpm', unit: 'request' }),
    reserved,
    actual,
  })

/** A limiter that is listened to; `told` is what of these names. */
function setUpEvents({
  on: given,
  thresholds,
  extensions = [],
  policies = [fixedWindow({ name: 'rpm', limit: 10, window: '1h', per: ['tenant'] })],
  ...options
}: SetUpOptions & {
  readonly policies?: readonly Policy[]
  readonly on?: Listeners
  readonly thresholds?: readonly number[]
} = {}) {
  const { on, received } = listening()
  const listeners = listen(given ?? on, thresholds ? { thresholds } : {})
  const { limiter, clock } = setUp(policies, { ...options, extensions: [listeners, ...extensions] })
  const eventsNamed = (name: keyof LimiterEvents) =>
    received.filter(([own]) => own === name).map(([, e]) => e)
  return { limiter, clock, received, eventsNamed }
}

describe('the event', () => {
  it('"decision" is sent for each check and reservation, allowed or not, and for no peek', async () => {
    const { limiter, eventsNamed } = setUpEvents()
    await limiter.peek(ACME)
    const allowed = await limiter.check(ACME)
    const reserved = await reserve(limiter, ACME, { cost: 2 })
    const denied = await limiter.check(ACME, { cost: 11 })
    expect(eventsNamed('decision')).toEqual([
      expect.objectContaining({ decision: allowed, subject: ACME, reservation: undefined }),
      expect.objectContaining({
        decision: expect.objectContaining({ allowed: true, at: reserved.at }),
        reservation: reserved.allowed && reserved.toJSON().id,
      }),
      expect.objectContaining({ decision: denied, subject: ACME }),
    ])
  })

  it('"decision" has the call that the hook `before` got, once a decision, shared subject or not', async () => {
    const calls: unknown[] = []
    const observer = defineExtension({
      name: 'observer',
      connect: () => ({ before: (call) => void calls.push(call) }),
    })
    const { limiter, eventsNamed } = setUpEvents({ extensions: [observer] })
    const waitUntil = vi.fn<() => void>()
    await Promise.all([limiter.check(ACME, { waitUntil }), limiter.check(ACME)])
    const events = eventsNamed('decision') as LimiterEvents['decision'][]
    expect(events.map(({ call }) => calls.indexOf(call))).toEqual([0, 1])
    expect(events.map(({ call }) => call.waitUntil)).toEqual([waitUntil, undefined])
  })

  it('"degraded" is sent for each check without the store, with its cause', async () => {
    const { limiter, eventsNamed } = setUpEvents({ store: { ...memory(), check: down } })
    await limiter.peek(ACME)
    await limiter.check(ACME)
    expect(eventsNamed('degraded')).toEqual([
      { degraded: { cause: 'store_unreachable', mode: 'local' }, subject: ACME },
    ])
  })

  it('"storeCall" is sent for each call of the store, also by an extension, with its error', async () => {
    const field = { key: 'own', field: 'value' }
    const extension = defineExtension({
      name: 'own',
      connect: ({ records }) => ({
        before: async () => {
          await records.write([{ key: 'own', set: { value: 'x' } }])
          await records.read([field])
          return undefined
        },
      }),
    })
    const store = { ...memory(), reset: down }
    const { limiter, eventsNamed } = setUpEvents({ store, extensions: [extension] })
    await limiter.check(ACME)
    await expect(limiter.reset(ACME)).rejects.toThrow('down')
    expect(eventsNamed('storeCall')).toEqual([
      { call: 'run', durationMs: expect.any(Number) },
      { call: 'check', durationMs: expect.any(Number) },
      { call: 'check', durationMs: expect.any(Number) },
      { call: 'reset', durationMs: expect.any(Number), error: expect.any(StoreError) },
    ])
  })

  it('"threshold" is sent once for the charge that crosses one, and for no other', async () => {
    const { limiter, eventsNamed } = setUpEvents({ thresholds: [0.5, 0.8, 1] })
    for (const cost of [4, 1, 2, 3, 1]) await limiter.check(ACME, { cost })
    expect(eventsNamed('threshold')).toMatchObject([
      { threshold: 0.5, subject: ACME, policy: { name: 'rpm', remaining: 5 } },
      { threshold: 0.8, subject: ACME, policy: { name: 'rpm', remaining: 0 } },
      { threshold: 1, subject: ACME, policy: { name: 'rpm', remaining: 0 } },
    ])
  })

  it('"shadow" is sent for a policy that would have denied', async () => {
    const shadow = fixedWindow({
      name: 'hidden',
      limit: 1,
      window: '1h',
      per: ['tenant'],
      mode: 'shadow',
    })
    const { limiter, eventsNamed } = setUpEvents({ policies: [shadow] })
    await limiter.check(ACME)
    expect(eventsNamed('shadow')).toEqual([])
    const { allowed, policies } = await limiter.check(ACME)
    expect([allowed, eventsNamed('shadow')]).toEqual([
      true,
      [{ policy: policies[0], subject: ACME }],
    ])
  })

  it('"reserved", "settled" and "abandoned" follow a reservation by its id', async () => {
    const { limiter, clock, eventsNamed } = setUpEvents()
    const calls = [
      await reserve(limiter, ACME, { cost: 3 }),
      await reserve(limiter, ACME, { cost: 1 }),
      await reserve(limiter, ACME, { cost: 2, settleWithin: '1m' }),
    ]
    const data = calls.map((call) => (call.allowed ? call.toJSON() : undefined))
    expect(eventsNamed('reserved')).toEqual(
      data.map((own) => ({
        id: own?.id,
        settleBy: own?.settleBy,
        subject: ACME,
        decision: expect.objectContaining({ allowed: true }),
      })),
    )
    await reservation(limiter, data[0] as never).settle(1)
    await reservation(limiter, data[1] as never).settle(4)
    clock.advance(120_000)
    await reservation(limiter, data[2] as never).settle(1)
    const told = data.map((own) => ({
      ...own,
      charges: own?.charges.map(({ policy, units }) => ({ policy, units })),
      wasReleased: false,
      replyWasLost: false,
      returned: {},
      overrun: {},
    }))
    expect(eventsNamed('settled')).toEqual([
      { ...told[0], returned: { request: 2 }, corrections: [correction(3, 1)] },
      { ...told[1], overrun: { request: 3 }, corrections: [correction(1, 4)] },
    ])
    expect(eventsNamed('abandoned')).toEqual([data[2]])
    expect(data.map((own) => own?.charges[0])).toEqual(
      [3, 1, 2].map((units) => expect.objectContaining({ policy: 'rpm', units })),
    )
  })

  it('"problem" is sent for a fault that stops no decision', async () => {
    const { limiter, eventsNamed } = setUpEvents({ plans, policies: [rpm] })
    await limiter.check({ ...ACME, plan: 'ultra' })
    expect(eventsNamed('problem')).toMatchObject([{ code: 'unknown_plan', source: 'subject' }])
  })

  it('reaches each extension that listens, as well as the listener of the limiter', async () => {
    const [first, second] = [listening(), listening()]
    const extensions = [first, second].map(({ on }, index) =>
      defineExtension({ name: `own-${index}`, connect: () => ({ on }) }),
    )
    const { limiter, received } = setUpEvents({ extensions })
    await limiter.check(ACME)
    expect(received.map(([name]) => name)).toEqual(['storeCall', 'decision'])
    expect([first.received, second.received]).toEqual([received, received])
  })
})

describe('a listener that fails', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a bug'))],
  ])('%s changes nothing, and the next listener gets the event', async (_, listener) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const on = Object.fromEntries(EVENTS.map((name) => [name, listener])) as Listeners
    const extension = listening()
    const extensions = [defineExtension({ name: 'own', connect: () => ({ on: extension.on }) })]
    const { limiter } = setUpEvents({ on, extensions, thresholds: [0.1] })
    expect(await limiter.check(ACME, { cost: 8 })).toMatchObject({
      allowed: true,
      degraded: undefined,
    })
    const call = await reserve(limiter, ACME, { cost: 2 })
    expect(call.allowed && (await call.settle(1))).toMatchObject({ applied: true })
    const names = new Set(extension.received.map(([name]) => name))
    expect(names).toEqual(new Set(['storeCall', 'decision', 'threshold', 'reserved', 'settled']))
    expect(log).toHaveBeenCalledWith('Sluice: A listener of "decision" failed:', expect.any(Error))
  })
})

/** The names of a limiter's events that have an emitter: one exists only for a listener. */
const emitters = (limiter: object): string[] => {
  const [symbol] = Object.getOwnPropertySymbols(limiter)
  const { events } = (limiter as Record<symbol, { events: object }>)[symbol as symbol] ?? {}
  return Object.keys(events ?? {}).toSorted()
}

describe('without listeners', () => {
  it('no event is made except problems', () => {
    expect(emitters(setUpEvents({ on: {} }).limiter)).toEqual(['problem'])
    expect(emitters(setUpEvents({ on: { shadow: () => {} } }).limiter)).toEqual([
      'problem',
      'shadow',
    ])
    expect(emitters(setUpEvents().limiter)).toEqual(EVENTS.toSorted())
  })
})
