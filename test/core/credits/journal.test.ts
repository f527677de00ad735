import { InputError, type Limiter } from '@sluice/core'
import {
  auditCredits,
  exportCredits,
  journal,
  type JournalEntry,
  type JournalOptions,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { ACME, creditsIn, journalOf } from './past.ts'

const redis = sharedRedis()

describe('a journal', () => {
  it.each(['memory', 'redis'])(
    'is a chain from 1 in %s, and reads on after a number',
    async (kind) => {
      const past = creditsIn(kind === 'memory' ? memory() : redis.store())
      const entries = await journalOf(past, 40)
      expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
      expect(new Set(entries.map((one) => one.kind))).toEqual(
        new Set(['included', 'granted', 'adjusted', 'revoked', 'expired', 'spent', 'debt']),
      )
      const { limiter } = past
      expect(await journal(limiter, ACME, { after: 3, limit: 2 })).toEqual(entries.slice(3, 5))
      expect(await journal(limiter, ACME, { limit: 2 })).toEqual(entries.slice(-2))
      expect(await journal(limiter, { tenant: 'nobody' })).toEqual([])
      const granted = entries.find((one) => one.kind === 'granted')
      expect(granted).toMatchObject({ id: 'h3', lot: { kind: 'paid', priority: 100 }, units: 12 })
      expect(entries.find((one) => one.kind === 'adjusted')).toMatchObject({
        units: -3,
        lot: undefined,
        reason: 'Counted twice',
      })
      const account = await exportCredits(limiter, ACME)
      expect(auditCredits(entries, { account })).toEqual([])
    },
  )

  it.each([{ after: -1 }, { after: 1.5 }, { limit: 0 }, { limit: 2_001 }] as JournalOptions[])(
    'refuses %o',
    async (options) => {
      const { limiter } = creditsIn(memory())
      await expect(journal(limiter, ACME, options)).rejects.toThrow(InputError)
    },
  )
})

/** Returns a source of numbers below a bound, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

type Random = (below: number) => number

/** The ways to change a journal, each in one place. */
const TAMPERINGS: Readonly<Record<string, (all: JournalEntry[], random: Random) => void>> = {
  'a deleted entry': (all, random) => void all.splice(random(all.length), 1),
  'a doubled entry': (all, random) => {
    const at = random(all.length)
    all.splice(random(all.length), 0, all[at] as JournalEntry)
  },
  'a moved entry': (all, random) => {
    const at = random(all.length)
    const [entry] = all.splice(at, 1)
    all.splice((at + 1 + random(all.length)) % (all.length + 1), 0, entry as JournalEntry)
  },
  'another amount': (all, random) => change(all, random, 'units'),
  'another sum': (all, random) => change(all, random, 'sum'),
  'another amount and its sum': (all, random) => {
    const at = random(all.length)
    const { units, sum, ...entry } = all[at] as JournalEntry
    const more = 1 + random(50)
    all[at] = { ...entry, units: units + more, sum: sum + more }
  },
}

function change(all: JournalEntry[], random: Random, field: 'units' | 'sum'): void {
  const at = random(all.length)
  const entry = all[at] as JournalEntry
  all[at] = { ...entry, [field]: entry[field] + (random(2) === 0 ? 1 : -1) * (1 + random(50)) }
}

describe('the audit of ten thousand entries', () => {
  let entries: JournalEntry[]
  let account: string
  let limiter: Limiter
  beforeAll(async () => {
    const past = creditsIn(memory())
    entries = await journalOf(past, 10_000)
    limiter = past.limiter
    account = await exportCredits(limiter, ACME)
  })

  it('finds nothing wrong with them', () => {
    expect(entries.length).toBeGreaterThanOrEqual(10_000)
    expect(auditCredits(entries, { account, from: 1 })).toEqual([])
  })

  it.each(Object.entries(TAMPERINGS))('finds %s, each of 200 times', (_, tamper) => {
    const random = randomFrom(7)
    for (let time = 0; time < 200; time += 1) {
      const changed = [...entries]
      tamper(changed, random)
      // Most are found without the account, which takes longer to read.
      const faults = auditCredits(changed, { from: 1 })
      const found = faults.length > 0 ? faults : auditCredits(changed, { account, from: 1 })
      expect(found.length, `time ${time}`).toBeGreaterThan(0)
    }
  })

  it('finds that the oldest of those that the store keeps is missing', async () => {
    const kept = await journal(limiter, ACME)
    expect(kept).toHaveLength(2_000)
    expect(auditCredits(kept, { account })).toEqual([])
    const first = kept[0]?.seq
    expect(auditCredits(kept.slice(1), { account })).toEqual([
      { seq: first, text: `entry ${first} is missing` },
    ])
  })

  it('finds the ends of what is missing', () => {
    expect(auditCredits(entries.toSpliced(4, 3))).toEqual([
      { seq: 5, text: 'entries 5 to 7 are missing' },
    ])
    const [fifth] = entries.slice(4)
    const higher = { ...(fifth as JournalEntry), sum: (fifth?.sum ?? 0) + 9 }
    expect(auditCredits(entries.with(4, higher)).map(({ seq }) => seq)).toEqual([5, 6])
    const all = entries.length
    expect(auditCredits(entries.slice(0, -2), { account })).toEqual([
      { seq: all - 1, text: `entries ${all - 1} to ${all} are missing` },
    ])
  })
})

describe('the audit of an account', () => {
  it.each([
    ['granted', 0],
    ['adjusted', 1],
    ['revoked', 2],
    ['expired', 3],
    ['settled', 4],
    ['held', 5],
    ['debt', 6],
    ['included', 8],
    ['entries', 13],
    ['logged', 14],
  ])('finds another number of %s', async (_, index) => {
    const past = creditsIn(memory())
    const entries = await journalOf(past, 60)
    const account = await exportCredits(past.limiter, ACME)
    expect(auditCredits(entries, { account })).toEqual([])
    const changed = account.replace(/(?<="account": ")[^|]*/, (numbers) =>
      numbers
        .split(' ')
        .map((number, at) => (at === index ? Number(number) + 1 : number))
        .join(' '),
    )
    expect(changed).not.toBe(account)
    expect(auditCredits(entries, { account: changed })).not.toEqual([])
  })
})
