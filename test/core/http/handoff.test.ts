import { createHandoff, HANDOFF_HEADER, type HandoffTerms } from '@sluice/core/internal/http'
import { ConfigError, manualClock, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'

const SECRET = 'a secret of at least thirty-two characters'
const TERMS: HandoffTerms = {
  method: 'POST',
  route: 'evaluate',
  path: '/api/ai/evaluate',
  subject: { tenant: 'acme', user: 'u1', plan: 'growth' },
}

const clock = manualClock(MIDNIGHT)
const handoff = createHandoff(SECRET, { clock })

describe('a hand-off', () => {
  it('is valid for the request that was charged', async () => {
    expect(await handoff.take(await handoff.sign(TERMS), TERMS)).toBe(true)
  })

  it('is a valid header value', async () => {
    const headers = new Headers({ [HANDOFF_HEADER]: await handoff.sign(TERMS) })
    expect(await handoff.take(headers.get(HANDOFF_HEADER), TERMS)).toBe(true)
  })

  it.each<[string, Partial<HandoffTerms>]>([
    ['another method', { method: 'GET' }],
    ['another route', { route: 'feedback' }],
    ['another path', { path: '/v1/evaluate' }],
    ['another case of its path', { path: '/api/ai/Evaluate' }],
    ['another tenant', { subject: { tenant: 'rival', user: 'u1' } }],
    ['another user', { subject: { tenant: 'acme', user: 'u2' } }],
    ['fewer dimensions', { subject: { tenant: 'acme' } }],
    ['more dimensions', { subject: { ...TERMS.subject, model: 'large' } }],
    ['values that change places', { subject: { tenant: 'u1', user: 'acme' } }],
    ['values that run together', { subject: { tenant: 'acme","user":"u1' } }],
  ])('is invalid for %s', async (_, changed) => {
    const value = await handoff.sign(TERMS)
    expect(await handoff.take(value, { ...TERMS, ...changed })).toBe(false)
  })

  it('is valid whatever the order of dimensions, with an undefined one, a plan or a route', async () => {
    const subject = { user: 'u1', model: undefined, tenant: 'acme', route: 'x', plan: 'starter' }
    expect(await handoff.take(await handoff.sign(TERMS), { ...TERMS, subject })).toBe(true)
  })

  it('expires after four seconds', async () => {
    const [early, late] = [await handoff.sign(TERMS), await handoff.sign(TERMS)]
    clock.advance(3_999)
    expect(await handoff.take(early, TERMS)).toBe(true)
    clock.advance(1)
    expect(await handoff.take(late, TERMS)).toBe(false)
  })

  it('is valid for at most five seconds by the clock of the receiver', async () => {
    for (const ahead of [0, 500, 1_000, 1_001, 4_000, 60_000]) {
      const signer = createHandoff(SECRET, { clock: () => MIDNIGHT + ahead })
      let good = 0
      for (let now = MIDNIGHT; now < MIDNIGHT + 70_000; now += 500) {
        const taker = createHandoff(SECRET, { clock: () => now })
        if (await taker.take(await signer.sign(TERMS), TERMS)) good += 500
      }
      expect({ ahead, good: good <= 5_000 }).toEqual({ ahead, good: true })
    }
  })

  it('tolerates a clock a second ahead or a few behind, but not one far ahead', async () => {
    const signedAt = (ms: number) =>
      createHandoff(SECRET, { clock: () => clock() + ms }).sign(TERMS)
    expect(await handoff.take(await signedAt(1_000), TERMS)).toBe(true)
    expect(await handoff.take(await signedAt(-3_000), TERMS)).toBe(true)
    expect(await handoff.take(await signedAt(1_001), TERMS)).toBe(false)
    expect(await handoff.take(await signedAt(60_000), TERMS)).toBe(false)
  })

  it('is invalid with another secret', async () => {
    const other = createHandoff(SECRET.toUpperCase(), { clock })
    expect(await handoff.take(await other.sign(TERMS), TERMS)).toBe(false)
  })

  it('is invalid after any change', async () => {
    const value = await handoff.sign(TERMS)
    const forged = Array.from(
      value,
      (char, index) => value.slice(0, index) + (char === '1' ? '2' : '1') + value.slice(index + 1),
    )
    const good = await Promise.all(forged.map((changed) => handoff.take(changed, TERMS)))
    expect(forged.filter((_, index) => good[index])).toEqual([])
  })

  it.each([
    null,
    '',
    '.',
    'true',
    `${MIDNIGHT + 5_000}`,
    `${MIDNIGHT + 5_000}.`,
    `${MIDNIGHT + 5_000}.${'0'.repeat(64)}`,
    `${MIDNIGHT + 5_000}.${'0'.repeat(63)}`,
    `${'9'.repeat(15)}.${'0'.repeat(64)}`,
    `-1.${'0'.repeat(64)}`,
    `1e400.${'0'.repeat(64)}`,
    `NaN.${'g'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.1a.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}..${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.1A.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.${'1'.repeat(14)}.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.1a.${'0'.repeat(64)}.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}..${'0'.repeat(64)}.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.1A.${'0'.repeat(64)}.${'0'.repeat(64)}`,
    `${MIDNIGHT + 2_000}.${'1'.repeat(14)}.${'0'.repeat(64)}.${'0'.repeat(64)}`,
    'x'.repeat(1_000_000),
  ])('does not accept %.40s', async (value) => {
    expect(await handoff.take(value, TERMS)).toBe(false)
  })

  it('is invalid if it stands twice in one header', async () => {
    const value = await handoff.sign(TERMS)
    expect(await handoff.take(`${value}, ${value}`, TERMS)).toBe(false)
  })
})

describe('a hand-off that was used', () => {
  it('is not accepted again in the same process, one by one or concurrently', async () => {
    const value = await handoff.sign(TERMS)
    const takes = (): Promise<boolean>[] =>
      Array.from({ length: 50 }, () => handoff.take(value, TERMS))
    const taken = [...(await Promise.all(takes())), ...(await Promise.all(takes()))]
    expect(taken.filter(Boolean)).toHaveLength(1)
  })

  it('does not use up another one of the same moment', async () => {
    const values = await Promise.all([handoff.sign(TERMS), handoff.sign(TERMS)])
    expect(await Promise.all(values.map((value) => handoff.take(value, TERMS)))).toEqual([
      true,
      true,
    ])
  })

  it('is not used up by presenting it for another request', async () => {
    const value = await handoff.sign(TERMS)
    expect(await handoff.take(value, { ...TERMS, path: '/v1/evaluate' })).toBe(false)
    expect(await handoff.take(value, TERMS)).toBe(true)
  })

  it('is remembered with at most 10,000 others: while these are valid, no other is accepted', async () => {
    const full = createHandoff(SECRET, { clock })
    const takeNew = async () => full.take(await full.sign(TERMS), TERMS)
    const first = await full.sign(TERMS)
    expect(await full.take(first, TERMS)).toBe(true)
    for (let count = 1; count < 10_000; count += 1) await takeNew()
    expect(await takeNew()).toBe(false)
    expect(await full.take(first, TERMS)).toBe(false)
    clock.advance(4_000)
    expect(await takeNew()).toBe(true)
  })
})

describe('a hand-off with a store', () => {
  const store = memory()
  const processes = Array.from({ length: 3 }, () =>
    createHandoff(SECRET, { clock, singleUse: store }),
  )
  const takenOf = async (value: string): Promise<number> => {
    const takes = processes.flatMap((each) => [each.take(value, TERMS), each.take(value, TERMS)])
    return (await Promise.all(takes)).filter(Boolean).length
  }

  it('is accepted once over all processes, as long as it is valid', async () => {
    const value = await handoff.sign(TERMS)
    expect(await takenOf(value)).toBe(1)
    clock.advance(3_999)
    expect(await takenOf(value)).toBe(0)
  })

  it('is accepted once in each process without one', async () => {
    const value = await handoff.sign(TERMS)
    const others = [1, 2, 3].map(() => createHandoff(SECRET, { clock }))
    const taken = await Promise.all(others.map((other) => other.take(value, TERMS)))
    expect(taken).toEqual([true, true, true])
  })

  it('is not accepted unless the store confirms the first use', async () => {
    const failing: Store = { ...memory(), run: () => Promise.reject(new Error('down')) }
    const behind = createHandoff(SECRET, { clock, singleUse: failing })
    expect(await behind.take(await behind.sign(TERMS), TERMS)).toBe(false)
  })

  it('throws if the store lacks its credentials, which charging twice would hide', async () => {
    const mistake = new ConfigError('missing_credentials', 'upstash.url', 'is missing')
    const failing: Store = { ...memory(), run: () => Promise.reject(mistake) }
    const behind = createHandoff(SECRET, { clock, singleUse: failing })
    await expect(behind.take(await behind.sign(TERMS), TERMS)).rejects.toBe(mistake)
  })

  it('costs one write if it is valid, and none otherwise', async () => {
    const counting = memory()
    const write = vi.spyOn(counting, 'run')
    const make = vi.fn<() => Store>(() => counting)
    const lazy = createHandoff(SECRET, { clock, singleUse: make })
    const value = await lazy.sign(TERMS)
    await lazy.take('x', TERMS)
    await lazy.take(value, { ...TERMS, method: 'GET' })
    expect(make).not.toHaveBeenCalled()
    for (const _ of [1, 2, 3]) await lazy.take(value, TERMS)
    await lazy.take(await lazy.sign(TERMS), TERMS)
    expect(write).toHaveBeenCalledTimes(2)
    expect(make).toHaveBeenCalledOnce()
  })

  it.each([null, {}, 'redis', 5])('is refused if the store is %j', (wrong) => {
    expect(() => createHandoff(SECRET, { singleUse: wrong as never })).toThrow(
      expect.objectContaining({ code: 'invalid_option', option: 'singleUse' }),
    )
  })
})

describe('the secret of a hand-off', () => {
  it.each(['', 'short', 'x'.repeat(31), undefined, 42])('cannot be %j', (secret) => {
    expect(() => createHandoff(secret as string)).toThrow(
      expect.objectContaining({ code: 'invalid_option', option: 'secret' }),
    )
  })

  it('does not stand in any value', async () => {
    expect(await handoff.sign(TERMS)).toMatch(/^\d+\.[0-9a-z]+\.[0-9a-f]{64}\.[0-9a-f]{64}$/)
  })
})
