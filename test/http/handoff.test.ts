import { createHandoff, HANDOFF_HEADER, type HandoffTerms } from '@sluice/core/http'
import { manualClock } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { START } from './support.ts'

const SECRET = 'a secret of at least thirty-two characters'
const TERMS: HandoffTerms = {
  method: 'POST',
  route: 'evaluate',
  subject: { tenant: 'acme', user: 'u1', plan: 'growth' },
}

const clock = manualClock(START)
const handoff = createHandoff(SECRET, clock)

describe('a hand-off', () => {
  it('is good for what was charged', async () => {
    expect(await handoff.verify(await handoff.sign(TERMS), TERMS)).toBe(true)
  })

  it('can be a header', async () => {
    const headers = new Headers({ [HANDOFF_HEADER]: await handoff.sign(TERMS) })
    expect(await handoff.verify(headers.get(HANDOFF_HEADER), TERMS)).toBe(true)
  })

  it.each<[string, Partial<HandoffTerms>]>([
    ['another method', { method: 'GET' }],
    ['another route', { route: 'feedback' }],
    ['another tenant', { subject: { tenant: 'rival', user: 'u1' } }],
    ['another user', { subject: { tenant: 'acme', user: 'u2' } }],
    ['fewer dimensions', { subject: { tenant: 'acme' } }],
    ['more dimensions', { subject: { ...TERMS.subject, model: 'large' } }],
    ['values that change places', { subject: { tenant: 'u1', user: 'acme' } }],
    ['values that run together', { subject: { tenant: 'acme","user":"u1' } }],
  ])('is worth nothing for %s', async (_, changed) => {
    const value = await handoff.sign(TERMS)
    expect(await handoff.verify(value, { ...TERMS, ...changed })).toBe(false)
  })

  it('does not mind the order of dimensions, an undefined one, the plan, or the route in them', async () => {
    const subject = { user: 'u1', model: undefined, tenant: 'acme', route: 'x', plan: 'starter' }
    expect(await handoff.verify(await handoff.sign(TERMS), { ...TERMS, subject })).toBe(true)
  })

  it('ends after ten seconds', async () => {
    const value = await handoff.sign(TERMS)
    clock.advance(9_999)
    expect(await handoff.verify(value, TERMS)).toBe(true)
    clock.advance(1)
    expect(await handoff.verify(value, TERMS)).toBe(false)
  })

  it('bears a clock that is a little ahead, not one that is far ahead', async () => {
    const signedAt = (ms: number) => createHandoff(SECRET, () => clock() + ms).sign(TERMS)
    expect(await handoff.verify(await signedAt(2_000), TERMS)).toBe(true)
    expect(await handoff.verify(await signedAt(60_000), TERMS)).toBe(false)
  })

  it('with another secret is worth nothing', async () => {
    const other = createHandoff(SECRET.toUpperCase(), clock)
    expect(await handoff.verify(await other.sign(TERMS), TERMS)).toBe(false)
  })

  it('that was changed anywhere is worth nothing', async () => {
    const value = await handoff.sign(TERMS)
    const forged = Array.from(
      value,
      (char, index) => value.slice(0, index) + (char === '1' ? '2' : '1') + value.slice(index + 1),
    )
    const good = await Promise.all(forged.map((changed) => handoff.verify(changed, TERMS)))
    expect(forged.filter((_, index) => good[index])).toEqual([])
  })

  it.each([
    null,
    '',
    '.',
    'true',
    `${START + 5_000}`,
    `${START + 5_000}.`,
    `${START + 5_000}.${'0'.repeat(64)}`,
    `${START + 5_000}.${'0'.repeat(63)}`,
    `${'9'.repeat(15)}.${'0'.repeat(64)}`,
    `-1.${'0'.repeat(64)}`,
    `1e400.${'0'.repeat(64)}`,
    `NaN.${'g'.repeat(64)}`,
    'x'.repeat(1_000_000),
  ])('is not %.40s', async (value) => {
    expect(await handoff.verify(value, TERMS)).toBe(false)
  })

  it('twice in one header is none', async () => {
    const value = await handoff.sign(TERMS)
    expect(await handoff.verify(`${value}, ${value}`, TERMS)).toBe(false)
  })
})

describe('its secret', () => {
  it.each(['', 'short', 'x'.repeat(31), undefined, 42])('cannot be %j', (secret) => {
    expect(() => createHandoff(secret as string)).toThrow(
      expect.objectContaining({ code: 'invalid_option', option: 'secret' }),
    )
  })

  it('stands in no value', async () => {
    expect(await handoff.sign(TERMS)).toMatch(/^\d+\.[0-9a-f]{64}$/)
  })
})
