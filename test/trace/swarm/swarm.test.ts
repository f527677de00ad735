import { readFileSync } from 'node:fs'
import { upstash } from '@sluice/core/upstash'
import { beforeAll, describe, expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { accountsOf, ratiosOf, type Account } from './accounts.ts'
import { entryOf, sum, type Entry } from './books.ts'
import { dealCalls, TENANTS } from './calls.ts'
import { FaultyRedis } from './faulty-redis.ts'
import type { Journey } from './journey.ts'
import { ratioOf } from './prompts.ts'
import { PRICE } from './provider.ts'
import { BUDGETS, limiterIn, makeCalls } from './run.ts'

const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const USUAL_CALLS = 10
const CALLS = Number(process.env['SWARM_CALLS'] ?? USUAL_CALLS)
const UNITS = ['token', 'usd'] as const
/** The table of the page, and what its rows measure. */
const HEADING = 'calls whose'
const ROWS = [
  ['usage was told', 'told'],
  ['usage was told, by Redis alone', 'told', ['store']],
  ['estimate was kept', 'kept'],
  ['holder crashed', 'unsettled'],
] as const

const own = ownRedisOverHttp()
let journeys: Journey[]
let entries: Entry[]
let accounts: Account[]

beforeAll(async () => {
  const { url, token } = own.local
  const redis = new FaultyRedis(own.redis)
  const store = upstash({
    url,
    token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
    fetch: redis.fetch,
  })
  const limiter = limiterIn(store)
  journeys = await makeCalls(limiter, dealCalls(CALLS))
  entries = journeys.flatMap((journey) => entryOf(journey) ?? [])
  accounts = await accountsOf(entries, limiter, redis)
}, 3_600_000)

const ofPlan = (plan: 'roomy' | 'tight'): Account[] =>
  accounts.filter(({ tenant }) => tenant.plan === plan)

describe(`${TENANTS * CALLS} model calls of ${TENANTS} tenants, with faults`, () => {
  it('meet each fault while they reserve and while they settle', () => {
    const requests = journeys.flatMap((journey) => journey.requests)
    const faulty = requests.filter(({ fault }) => fault !== undefined)
    expect(faulty.length / requests.length).toBeCloseTo(0.02, 2)
    for (const fault of ['request lost', 'reply lost'] as const) {
      expect(journeys.filter((one) => one.requests[0]?.fault === fault).length).toBeGreaterThan(9)
      const settling = journeys.flatMap((one) => one.requests.slice(1))
      expect(settling.filter((one) => one.fault === fault).length).toBeGreaterThan(9)
    }
    const twice = journeys.filter(
      ({ requests: [first, second] }) => first?.isHeld && second?.fault === 'request lost',
    )
    expect(twice.length).toBeGreaterThan(0)
  })

  it('are charged in the store what the books say: settled, kept or abandoned', () => {
    for (const { tenant, entries: of, store } of accounts) {
      const { token, usd } = sum(of.map(({ inStore }) => inStore))
      const calls = of.filter(({ isInFlight }) => isInFlight).length
      expect({ tenant, store }).toEqual({ tenant, store: { token, usd, calls } })
    }
  })

  it('are charged in memory what the books say, if they were decided without the store', () => {
    for (const { tenant, entries: of, memory } of accounts) {
      const { token, usd } = sum(of.map(({ inMemory }) => inMemory))
      expect({ tenant, memory }).toMatchObject({ tenant, memory: { token, usd } })
    }
  })

  it.each(UNITS)('are charged what they used, if their usage was told, in %s', (unit) => {
    const { total, lowest, highest } = ratiosOf('told', accounts, unit)
    expect(total).toBeGreaterThanOrEqual(0.99)
    expect(total).toBeLessThanOrEqual(1.01)
    expect(lowest).toBeGreaterThanOrEqual(0.98)
    expect(highest).toBeLessThanOrEqual(1.05)
  })

  it('keep no estimate below what was billed, but for the error in the estimate of their input', () => {
    const others = entries.filter(({ kind }) => kind !== 'told')
    expect(others.length).toBeGreaterThan(100)
    for (const { journey, due, billed } of others) {
      const { text, tenant } = journey.call
      const ratio = tenant.input === 'bound' ? 1 : Math.min(1, ratioOf(text))
      // A part of a sample is not the sample.
      const error = ratio < 1 ? (1.01 - ratio) * journey.promptTokens : 0
      expect(due.token).toBeGreaterThanOrEqual(billed.token - error)
      expect(due.usd).toBeGreaterThanOrEqual(billed.usd - error * PRICE.input)
    }
  })

  it.each(['bound', 'estimate'] as const)(
    'never spend more than a budget, with the input reserved by %s',
    (input) => {
      const error = input === 'bound' ? 1 : ratioOf('Swahili')
      const tenants = ofPlan('tight').filter(({ tenant }) => tenant.input === input)
      const spent = tenants.flatMap(({ entries: of }) =>
        // Without the store, the memory of the process holds a budget of its own.
        [true, false].map((isDegraded) => {
          const decided = of.filter((entry) => entry.isDegraded === isDegraded)
          return sum(decided.map(({ billed }) => billed)).usd
        }),
      )
      expect(Math.max(...spent)).toBeLessThanOrEqual(BUDGETS.tight / error)
      expect(Math.max(...spent)).toBeGreaterThan(BUDGETS.tight * 0.8)
    },
  )

  it('are settled in the store if it holds them, unless three attempts fail, which is reported', () => {
    for (const { kind, isInFlight, journey } of entries) {
      if (kind === 'unsettled') continue
      const attempts = journey.requests.slice(1)
      const isLost = attempts.length === 3 && attempts.every(({ fault }) => fault !== undefined)
      expect(journey.errors).toHaveLength(isLost ? 1 : 0)
      expect(isInFlight).toBe(isLost && attempts.every(({ fault }) => fault === 'request lost'))
    }
  })

  it.runIf(CALLS === USUAL_CALLS)(
    'have the ratios on the page, where budgets do not run out',
    () => {
      const roomy = ofPlan('roomy')
      const all = roomy.flatMap((account) => account.entries)
      const measured = ROWS.map(([name, kind, ...places]) => {
        const { total, lowest, highest } = ratiosOf(kind, roomy, 'usd', ...places)
        const share = all.filter((entry) => entry.kind === kind).length / all.length
        const cells = {
          'of all calls': `${(100 * share).toFixed(1)} %`,
          'charged ÷ billed': total.toFixed(3),
          'lowest tenant': lowest.toFixed(3),
          'highest tenant': highest.toFixed(3),
        }
        return [name, cells] as const
      })
      const published = Array.from(tableOf(page, HEADING), ([name, row]) => [
        name,
        Object.fromEntries(Object.entries(row).filter(([column]) => column !== HEADING)),
      ])
      expect(published).toEqual(measured)
    },
  )
})
