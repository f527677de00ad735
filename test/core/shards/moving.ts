/* Processes over databases of which one is added, and the tenants that it takes. */
import {
  createLimiter,
  dailyCap,
  manualClock,
  type Extension,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '@sluice/core'
import { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { sharded, type ShardedOptions } from '@sluice/core/sharded'
import { KINDS } from '../../support/kinds.ts'
import { NOON } from '../../support/times.ts'

export type Stores = Record<'a' | 'b' | 'c', Store>

export const BUDGET = dailyCap({ name: 'budget', limit: 10_000_000, unit: 'usd', per: ['tenant'] })
export const RPM = KINDS['sliding window']('rpm', 10)
export const FROM_TWO = movedFrom({ stores: ['a', 'b'] })

/** Processes with lists of their own, on the same three databases. */
export function setUp(make: () => Store, policies: LimiterOptions['policies'] = [RPM]) {
  const clock = manualClock(NOON)
  const databases: Stores = { a: make(), b: make(), c: make() }
  const open = (
    stores: Partial<Stores>,
    options: ShardedOptions = {},
    extensions: Extension[] = [],
  ) =>
    createLimiter({
      store: sharded(stores as Stores, options as ShardedOptions<keyof Stores>),
      policies,
      clock,
      onStoreError: 'deny',
      extensions,
    })
  const { a, b } = databases
  return {
    clock,
    databases,
    open,
    /** A process that counts in a and b. */
    openOld: (...extensions: Extension[]) => open({ a, b }, {}, extensions),
    /** A process that counts in all three, to which tenants of a and b move. */
    openNew: (...extensions: Extension[]) => open(databases, { from: FROM_TWO }, extensions),
    oracle: createLimiter({ store: memory(), policies, clock, onStoreError: 'deny' }),
  }
}

/** Tenants that a third database takes from the others, and one that stays. */
export const [MOVING, STAYING] = await (async () => {
  const [two, three] = [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ].map((names) =>
    createLimiter({
      store: sharded(Object.fromEntries(names.map((name) => [name, memory()]))),
      policies: [RPM],
    }),
  ) as [Limiter, Limiter]
  const moving: string[] = []
  let staying = ''
  for (let n = 0; moving.length < 4; n += 1) {
    const tenant = `t${n}`
    const [from, to] = [await two.peek({ tenant }), await three.peek({ tenant })]
    if (from.place === to.place) staying = tenant
    else moving.push(tenant)
  }
  return [moving, staying] as const
})()
export const [FIRST = ''] = MOVING
export const acme = { tenant: FIRST }

/** Settings of each tenant in a record of its own. */
export const settings = (): Extension =>
  runtimeConfiguration({ allow: { rpm: ['limit'] }, partitions: partitionRecords() })
