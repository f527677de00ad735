import { createHandoff, type HandoffTerms } from '@sluice/core/internal/http'
import { manualClock } from '@sluice/core'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'

const SECRET = 'a secret of at least thirty-two characters'
const TERMS: HandoffTerms = {
  method: 'POST',
  route: 'evaluate',
  path: '/api/ai/evaluate',
  subject: { tenant: 'acme', user: 'u1' },
}

const clock = manualClock(MIDNIGHT)
const handoff = createHandoff(SECRET, { clock })

describe('the subject of a hand-off', () => {
  const find = vi.fn<() => HandoffTerms['subject'] | null>(() => TERMS.subject)
  const take = (value: string, changed: Partial<HandoffTerms> = {}) =>
    handoff.take(value, { ...TERMS, ...changed, subject: find })
  beforeEach(() => find.mockClear())

  it('is looked up once for a hand-off that is genuine', async () => {
    expect(await take(await handoff.sign(TERMS))).toBe(true)
    expect(find).toHaveBeenCalledOnce()
  })

  it.each<Partial<HandoffTerms>>([{ method: 'GET' }, { route: 'x' }, { path: '/x' }])(
    'is not looked up for a hand-off that does not fit %j',
    async (changed) => {
      expect(await take(await handoff.sign(TERMS), changed)).toBe(false)
      expect(find).not.toHaveBeenCalled()
    },
  )

  it('is not looked up for a hand-off that is made up, forged, expired or far ahead', async () => {
    const other = createHandoff(SECRET.toUpperCase(), { clock })
    const late = createHandoff(SECRET, { clock: () => clock() - 4_000 })
    const ahead = createHandoff(SECRET, { clock: () => clock() + 1_001 })
    const values = await Promise.all([other, late, ahead].map((signer) => signer.sign(TERMS)))
    const macs = `${'0'.repeat(64)}.${'0'.repeat(64)}`
    for (const value of ['x', `${clock() + 2_000}.1a.${macs}`, ...values]) {
      expect(await take(value)).toBe(false)
    }
    expect(find).not.toHaveBeenCalled()
  })

  it('is looked up for one of many uses at once, also when it is another one', async () => {
    find.mockImplementationOnce(() => ({ tenant: 'rival' }))
    const value = await handoff.sign(TERMS)
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(value)))
    expect(taken.filter(Boolean)).toHaveLength(0)
    expect(find).toHaveBeenCalledOnce()
  })

  it('that is nobody makes it worth nothing', async () => {
    find.mockImplementationOnce(() => null)
    expect(await take(await handoff.sign(TERMS))).toBe(false)
  })
})
