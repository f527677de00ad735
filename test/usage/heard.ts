import {
  createLimiter,
  dailyCap,
  manualClock,
  slidingWindow,
  type Extension,
  type Limiter,
  type OnStoreError,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { createDashboard } from '@sluice/dashboard'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { afterEach, beforeEach, vi } from 'vitest'
import { ACME, collectProblems } from '../support/limiters.ts'
import { losingStore } from '../support/losing-store.ts'
import { runTimersUntil } from '../support/timers.ts'
import { NOON } from '../support/times.ts'

/** Policies that hold all charges of a test. */
export const MONEY: Policy[] = [
  dailyCap({ name: 'daily', unit: 'usd', limit: 1_000_000_000, per: ['tenant'] }),
  slidingWindow({
    name: 'tpm',
    unit: 'token',
    limit: 1_000_000_000,
    window: '1d',
    per: ['tenant'],
  }),
]

/** The units of tenants: dollars in micro-dollars. */
export interface Spent {
  readonly usd: number
  readonly token: number
}

/** Listeners of every kind, and what each has heard. */
export function listeners(clock: () => number) {
  const dashboard = createDashboard({ clock })
  const extensions: Extension[] = [
    recordUsage({ tenants: 'plain' }),
    dashboard.watch(),
    prometheus(),
  ]
  return {
    extensions,
    async heard(limiter: Limiter) {
      const { rows, policies } = await usage(limiter)
      const unitsOf = (unit: string): number =>
        policies.reduce((sum, row) => (row.unit === unit ? sum + row.units : sum), 0)
      const allowed = rows.filter(({ outcome }) => outcome === 'allowed')
      const metrics = await metricsText(limiter)
      const { usedUsd, tokens } = dashboard.view().totals
      const sum = (name: 'usd' | 'tokens'): number =>
        allowed.reduce((all, row) => all + row[name], 0)
      return {
        rows: { usd: sum('usd'), token: sum('tokens') },
        'rows of policies': { usd: unitsOf('usd'), token: unitsOf('token') },
        dashboard: { usd: usedUsd, token: tokens },
        metrics: {
          usd: Math.round(
            1e6 * counted(metrics, /^rate_limiter_cost_usd_total\{.*_state="(\w+)".*\} (\S+)$/),
          ),
          token: counted(
            metrics,
            /^rate_limiter_units_total\{.*_unit="token".*_state="(\w+)".*\} (\S+)$/,
          ),
        },
      }
    },
  }
}

const SIGNS: Readonly<Record<string, number>> = {
  charged: 1,
  reserved: 1,
  overrun: 1,
  returned: -1,
}

/** The units that counters say are charged in the end. */
function counted(text: string, line: RegExp): number {
  return text
    .split('\n')
    .map((one) => line.exec(one))
    .reduce((sum, match) => sum + (SIGNS[match?.[1] ?? ''] ?? 0) * Number(match?.[2] ?? 0), 0)
}

/** The units that the store has charged a tenant. */
export async function ledgerOf(limiter: Limiter, tenant: string): Promise<Spent> {
  const { policies } = await limiter.peek({ tenant }, { cost: { usd: 0, token: 0 } })
  const of = (unit: string): number => {
    const policy = policies.find((one) => one.unit === unit)
    return (policy?.limit ?? 0) - (policy?.remaining ?? 0)
  }
  return { usd: of('usd'), token: of('token') }
}

/** The units of a call without faults, after which every listener knows the tenant. */
export const FIRST: Spent = { usd: 900, token: 30 }

/** Sets up a limiter whose store loses calls, with listeners of every kind. */
export async function setUp(onStoreError: OnStoreError, inner: Store = memory()) {
  const clock = manualClock(NOON)
  const losing = losingStore(inner)
  const listening = listeners(clock)
  const { problems, listener } = collectProblems()
  const limiter = createLimiter({
    store: losing.store,
    clock,
    policies: MONEY,
    onStoreError,
    extensions: [...listening.extensions, listener],
  })
  const first = await reserve(limiter, ACME, { cost: { ...FIRST } })
  if (!first.allowed) throw new Error('It fits')
  await first.settle({ ...FIRST })
  const codes = (): string[] => problems.map(({ code }) => code)
  return { clock, losing, limiter, codes, heard: () => listening.heard(limiter) }
}

/** These units from every listener, beside those of the first call. */
export function heardBy({ usd, token }: Spent) {
  const spent = { usd: usd + FIRST.usd, token: token + FIRST.token }
  return { rows: spent, 'rows of policies': spent, dashboard: spent, metrics: spent }
}

export const minusFirst = (spent: Spent): Spent => ({
  usd: spent.usd - FIRST.usd,
  token: spent.token - FIRST.token,
})

/** Has the tests of a file take no time for pauses. */
export function holdPauses(): void {
  beforeEach(() => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.useFakeTimers({ toFake: ['setTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
}

/** Waits for work that pauses. Returns the error if it fails. */
export async function finish<T>(work: Promise<T>): Promise<T | Error> {
  const done = work.catch((error: Error) => error)
  await runTimersUntil(done)
  return done
}
