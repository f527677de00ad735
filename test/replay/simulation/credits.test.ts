import { definePlans, slidingWindow, type Policy } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits } from '@sluice/core/credits'
import { openLog, policySet, renderText, replay, suggestLimits } from '@sluice/replay'
import type { OpeningBalance, ReplayOptions } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { Random } from '../../world/random.ts'
import { replayText, write } from '../support.ts'

const NOON = Date.UTC(2026, 2, 1, 12)
const iso = (second: number): string => new Date(NOON + second * 1_000).toISOString()

type Line = readonly [second: number, tenant: string, units: number, user?: string]

const log = (lines: readonly Line[]): string =>
  [
    'time,tenant,image,user',
    ...lines.map(
      ([second, tenant, units, user = '']) => `${NOON / 1_000 + second},${tenant},${units},${user}`,
    ),
  ].join('\n')

const COLUMNS = { columns: { 'unit:image': 'image' } }
const options = (openingBalance: OpeningBalance): ReplayOptions & { log: typeof COLUMNS } => ({
  openingBalance,
  log: COLUMNS,
})

const images = { name: 'images', unit: 'image', per: ['tenant'], unsettled: 'keep' } as const
const balance: Policy = credits(images)

describe('a replay of credits', () => {
  it('charges each line, refuses what is not there, and says when a balance runs out', async () => {
    const lines: Line[] = [
      [0, 'acme', 6],
      [1, 'beta', 3],
      [2, 'acme', 5], // 4 are left
      [3, 'acme', 4],
      [4, 'acme', 1],
    ]
    const denied: number[] = []
    const { sets } = await replayText(
      log(lines),
      { policies: [balance] },
      { ...options(10), onDenied: ({ call }) => denied.push(call.line) },
    )
    expect(denied).toEqual([4, 6])
    expect(sets[0]).toMatchObject({ denied: { calls: 2 }, omitted: [], policies: [{ fullest: 0 }] })
    expect(sets[0]?.credits).toEqual([
      {
        policy: 'images',
        unit: 'image',
        balances: [
          {
            subject: { tenant: 'acme' },
            opening: 10,
            charged: 10,
            left: 0,
            refused: 2,
            refusedUnits: 6,
            ranOutAt: iso(2),
          },
          {
            subject: { tenant: 'beta' },
            opening: 10,
            charged: 3,
            left: 7,
            refused: 0,
            refusedUnits: 0,
            ranOutAt: undefined,
          },
        ],
      },
    ])
  })

  it('begins with the balance of each tenant, and with nothing for others', async () => {
    const lines: Line[] = [
      [0, 'acme', 2],
      [1, 'beta', 2],
      [2, 'constructor', 1],
    ]
    const { sets } = await replayText(log(lines), { policies: [balance] }, options({ acme: 2 }))
    const of = sets[0]?.credits[0]?.balances.map(({ subject, opening, refused, ranOutAt }) => [
      subject['tenant'],
      opening,
      refused,
      ranOutAt,
    ])
    expect(of).toEqual([
      ['beta', 0, 1, iso(1)],
      ['constructor', 0, 1, iso(2)],
      // The call that leaves nothing.
      ['acme', 2, 0, iso(0)],
    ])
  })

  it('decides as a sum by hand does, on random logs', async () => {
    const random = new Random(7)
    const lines = Array.from({ length: 400 }, (_, at): Line => [
      at,
      `t${random.whole(0, 4)}`,
      random.whole(0, 8),
    ])
    const opening = { t0: 30, t1: 100, t2: 0, t3: 1_000 }
    const left = new Map<string, number>(Object.entries(opening))
    const expected = lines.flatMap(([, tenant, units], index) => {
      const rest = left.get(tenant) ?? 0
      if (units > rest) return [index + 2]
      left.set(tenant, rest - units)
      return []
    })
    const denied: number[] = []
    const { sets } = await replayText(
      log(lines),
      { policies: [balance] },
      { ...options(opening), onDenied: ({ call }) => denied.push(call.line) },
    )
    expect(denied).toEqual(expected)
    expect(denied.length).toBeGreaterThan(100)
    const reported = sets[0]?.credits[0]?.balances.map((one) => [one.subject['tenant'], one.left])
    expect(new Map(reported as [string, number][])).toEqual(new Map([...left, ['t4', 0]]))
  })

  it('renews what a plan includes, and adds the opening balance to it', async () => {
    const policies = [
      credits({
        ...images,
        included: { amount: ({ plan }) => plan.images, resets: calendar({ every: 'day' }) },
      }),
    ]
    const plans = definePlans({ free: { images: 2 } })
    const noon = 43_200
    const lines: Line[] = [
      [0, 'acme', 2],
      [1, 'acme', 2],
      [noon, 'acme', 2],
      [noon + 1, 'acme', 1],
    ]
    const denials = async (opening: number): Promise<number | undefined> =>
      (await replayText(log(lines), { policies, plans }, options(opening))).sets[0]?.denied.calls
    expect([await denials(0), await denials(2), await denials(3)]).toEqual([2, 1, 0])
  })

  it('counts the balances of each user apart, and leaves out those of nobody', async () => {
    const policies = [
      credits({ ...images, per: ['tenant', 'user'], onMissing: 'skip' }),
      slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'] }),
    ]
    const lines: Line[] = [
      [0, 'acme', 3, 'ann'],
      [1, 'acme', 1, 'bob'],
      [2, 'acme', 9],
    ]
    const { sets } = await replayText(log(lines), { policies }, options(3))
    expect(sets[0]?.credits[0]?.balances).toMatchObject([
      { subject: { tenant: 'acme', user: 'ann' }, left: 0 },
      { subject: { tenant: 'acme', user: 'bob' }, left: 2 },
    ])
  })

  it('judges who is normal by windows alone', async () => {
    const policies = [
      slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] }),
      balance,
    ]
    const { sets } = await replayText(
      log([
        [0, 'acme', 1],
        [1, 'acme', 1],
      ]),
      { policies },
      options(1),
    )
    expect(sets[0]?.normal).toMatchObject({ tenants: 1, hurt: [{ tenant: 'acme' }] })
  })

  it('charges neither a balance nor a limit for a call that either denies', async () => {
    const policies = [
      slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] }),
      balance,
    ]
    const lines: Line[] = [
      [0, 'acme', 5],
      [1, 'acme', 1],
      [60, 'acme', 5],
    ]
    const { sets } = await replayText(log(lines), { policies }, options(10))
    expect(sets[0]?.credits[0]?.balances).toMatchObject([{ charged: 10, left: 0, refused: 0 }])
  })

  it.each([-1, 0.5, Number.NaN, { acme: -1 }, { acme: 10 ** 15 }])(
    'refuses an opening balance of %j',
    async (opening) => {
      await expect(
        replayText(log([[0, 'a', 1]]), { policies: [balance] }, options(opening)),
      ).rejects.toThrow('openingBalance: must be whole units from 0 to 10^14')
    },
  )
})

it('a balance begins with any number of micro-dollars, such as what a tenant has left', async () => {
  const lines = [0, 1].map((second) => `${iso(second)},acme,0.0003`)
  const file = await openLog(write('log.csv', ['time,tenant,cost', ...lines].join('\n')))
  const dollars = credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })
  const set = policySet('limits', { policies: [dollars] })
  const result = await replay(file.calls(), [set], { openingBalance: { acme: 420 } })
  expect(renderText(result, file.facts)).toMatch(
    /^tenant=acme +\$0\.000420 +\$0\.000300 +\$0\.000120 +1 /m,
  )
})

describe('the report of a replay of credits', () => {
  it('has a table of balances, and says that nothing is granted later', async () => {
    const lines = [0, 1, 2].map((second) => `${iso(second)},acme,1.5`)
    const file = await openLog(write('log.csv', ['time,tenant,cost', ...lines].join('\n')))
    const dollars = credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })
    const set = policySet('limits', { policies: [dollars] })
    const result = await replay(file.calls(), [set], { openingBalance: 4_000_000 })
    const text = renderText(result, file.facts)
    expect(text).toContain('1 of 1 balance of "credits" would have run out:')
    expect(text).toMatch(/^tenant=acme +\$4\.00 +\$3\.00 +\$1\.00 +1 +2026-03-01 12:00:02$/m)
    expect(text).toContain('Balances are granted nothing after their start')
    expect(text).not.toContain('is left out')
  })
})

it('the smallest limits are searched without balances', async () => {
  const policies = [
    slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] }),
    balance,
  ]
  const file = await openLog(
    write(
      'log.csv',
      log([
        [0, 'a', 1],
        [1, 'a', 1],
      ]),
    ),
    COLUMNS,
  )
  const { limits, outcome } = await suggestLimits(() => file.calls(), policySet('s', { policies }))
  expect(limits).toMatchObject([{ policy: 'rpm', limit: 2 }])
  expect(outcome).toMatchObject({ credits: [], omitted: [{ name: 'images' }] })
})
