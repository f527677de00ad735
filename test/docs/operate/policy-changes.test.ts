import {
  ConfigError,
  createLimiter,
  manualClock,
  type Decision,
  type Limiter,
  type Policy,
  type PolicyState,
  type Store,
} from '@sluice/core'
import { leased } from '@sluice/core/leases'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { CHANGES, EFFECTS, type Change } from './policy-changes.ts'

const SUBJECT = { tenant: 'acme', route: 'chat' }

// Both versions run in one process here, which warns of limits that differ.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}))
afterEach(() => vi.restoreAllMocks())

it('the page lists each change', () => {
  expect(new Set(EFFECTS.keys())).toEqual(new Set(Object.keys(CHANGES)))
})

const countsAfter = (row: string): string => EFFECTS.get(row) ?? ''
const isRefused = ([row]: readonly [string, unknown]): boolean => countsAfter(row) === 'refused'
const changes = Object.entries(CHANGES)

describe.each(changes.filter(isRefused))('%s', (row, refused) => {
  it.each(Object.entries(refused))(`${row}: %s`, (_, { after }) => {
    expect(after).toThrow(ConfigError)
  })
})

describe.each(STORES_TO_TEST)('a deployment that changes a policy, in %s', (name) => {
  const make = storesOf(name)
  // Where tenants have places, leases are an option of the store.
  const isFit = ([row]: readonly [string, unknown]): boolean =>
    !(row.includes('`lease`') && /cluster|databases|region|objects/.test(name))
  const counted = changes.filter((row) => !isRefused(row) && isFit(row))

  describe.each(counted)('%s', (row, variants) => {
    const counts = countsAfter(row)

    it.each(Object.entries(variants))(`${counts}: %s`, async (_, change) => {
      const { old, now } = versions(make(), change)
      for (let sent = 0; sent < 3; sent += 1) expect(await old.charge()).toBe(true)
      const { limit } = await now.state()
      const expected = new Map([
        ['kept', 3],
        ['kept, in time', Math.ceil((3 * limit) / 10)],
        ['start afresh', 0],
      ])
      // A lease charges ahead.
      const charged = await now.used()
      const units = isLeased(change.before) ? Math.min(charged, 3) : charged
      expect(units).toBe(expected.get(counts))
      // While both versions run, and after a rollback. A process with a lease looks at that alone.
      expect(await now.charge()).toBe(true)
      const added = isLeased(change.before) ? 0 : (await old.used()) - 3
      expect(added > 0).toBe(counts !== 'start afresh' && !isLeased(change.before))
    })
  })
})

/** A version of the app: what it charges, and what it finds charged. */
interface Version {
  charge(): Promise<boolean>
  state(): Promise<PolicyState>
  used(): Promise<number>
}

const isLeased = (policy: Policy): boolean => policy().some((rule) => 'lease' in rule)

/** The versions before and after a change, over one store. */
function versions(store: Store, { before, after }: Change): { old: Version; now: Version } {
  const clock = manualClock(NOON)
  const start = (policy: Policy): Version => {
    const own = isLeased(policy) ? leased(store) : store
    return versionOf(createLimiter({ store: own, policies: [policy], clock }), policy)
  }
  return { old: start(before), now: start(after()) }
}

function versionOf(limiter: Limiter, policy: Policy): Version {
  const [{ name, unit, stripes }] = policy() as [ReturnType<Policy>[number]]
  const options = unit === 'token' ? { cost: { token: 1 } } : {}
  const stateIn = ({ policies }: Decision): PolicyState =>
    policies.find((state) => state.name === name) as PolicyState
  const state = async () => stateIn(await limiter.peek(SUBJECT, options))
  return {
    charge: async () => stateIn(await limiter.check(SUBJECT, options)).charged,
    state,
    async used() {
      let [limit, free] = [0, 0]
      for (let stripe = 0; stripe < stripes; stripe += 1) {
        // It chooses the stripe.
        const random = vi.spyOn(Math, 'random').mockReturnValue(stripe / stripes)
        const { burst, remaining } = await state()
        random.mockRestore()
        limit = burst
        free += remaining
      }
      return limit - free
    },
  }
}
