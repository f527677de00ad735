import { readFileSync } from 'node:fs'
import { createLimiter, manualClock, type Limiter } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { balance, credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DAY, NOON } from '../../support/times.ts'

const ACME = { tenant: 'acme' }
const COST = { cost: { credit: 10 } }
const page = readFileSync(new URL('../../../docs/operate/upgrade.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Credits'), page.indexOf('## Change a budget'))

interface Options {
  readonly name?: string
  readonly per?: string[]
  readonly ledger?: string
  readonly unsettled?: 'keep' | 'release'
  readonly mode?: 'shadow'
  readonly routes?: string[]
  readonly included?: number
}

// Both versions run in one process here, which warns of limits that differ.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}))
afterEach(() => vi.restoreAllMocks())

/** Makes versions of an app on one store. */
function app() {
  const [store, clock] = [memory(), manualClock(NOON)]
  const version = ({ included, ...options }: Options): Limiter =>
    createLimiter({
      store,
      clock,
      onStoreError: 'deny',
      policies: [
        credits({
          name: 'credits',
          per: ['tenant'],
          unit: 'credit',
          unsettled: 'keep',
          ...options,
          ...(included !== undefined && {
            included: { amount: included, resets: calendar({ every: 'day' }) },
          }),
        } as never),
      ],
    })
  return { version, clock }
}

/** Grants 100, spends 10, and deploys other options. */
async function deployed(before: Options, after: Options): Promise<Limiter> {
  const { version } = app()
  const old = version(before)
  await grant(old, ACME, { amount: 100, id: 'p', at: NOON, kind: 'paid' })
  await old.check(ACME, COST)
  return version(after)
}

const left = async (limiter: Limiter, subject: object = ACME): Promise<number> =>
  (await balance(limiter, subject as never)).available

describe('a deployment that changes credits', () => {
  it.each([
    ['`name`', { name: 'other' }, 90],
    ['`unsettled`', { unsettled: 'release' }, 90],
    ['`included`', { included: 50 }, 140],
    ['`routes`', { routes: ['chat'] }, 90],
    ['`mode`', { mode: 'shadow' }, 90],
    ['`ledger`', { ledger: 'other' }, 0],
    ['`per`', { per: ['user'] }, 0],
  ] as const)('leaves of a balance, by %s, what the page says', async (option, after, expected) => {
    const limiter = await deployed({}, after as Options)
    expect(await left(limiter, { tenant: 'acme', user: 'acme' })).toBe(expected)
    const line = section.split('\n- ').find((text) => text.includes(option))
    expect(line).toContain(expected > 0 ? 'the balance is kept' : 'begins at 0')
  })

  it("gives back abandoned reservations of any age from 'keep' to 'release'", async () => {
    const { version, clock } = app()
    const old = version({})
    await grant(old, ACME, { amount: 100, id: 'p', at: NOON, kind: 'paid' })
    await reserve(old, ACME, COST)
    clock.advance(60 * DAY)
    expect(await left(old)).toBe(90)
    await version({ unsettled: 'release' }).check(ACME, COST)
    expect(await left(old)).toBe(90)
    expect((await balance(old, ACME)).abandoned).toBe(0)
    expect(section).toContain('settle the abandoned reservations first')
  })

  it('ends an allowance that is removed with its period', async () => {
    const { version, clock } = app()
    await version({ included: 50 }).check(ACME, COST)
    const after = version({})
    expect(await left(after)).toBe(40)
    clock.advance(DAY)
    expect(await left(after)).toBe(0)
  })

  it('adds the larger of two allowances, once a period', async () => {
    const { version } = app()
    const [old, now] = [version({ included: 50 }), version({ included: 80 })]
    for (const limiter of [old, now, old, now]) await limiter.check(ACME, COST)
    expect(await left(old)).toBe(40)
  })
})
