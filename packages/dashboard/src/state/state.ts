import type { Clock } from '@sluice/core'
import type { Batch } from '../records/batches.ts'
import type {
  AbandonedRecord,
  DashboardRecord,
  DecisionRecord,
  ReservedRecord,
  SettledRecord,
} from '../records/record.ts'
import type { Tenant } from './tenant.ts'
import type { View } from '../view.ts'
import { Arrivals } from './arrivals.ts'
import { AvoidedCalls } from './avoided.ts'
import { Calls } from './calls.ts'
import { Health } from './health.ts'
import { tokensOf } from '../records/record.ts'
import { LatestReport, type MakeReport } from '../report.ts'
import { Series, type PointChange } from './series.ts'
import { Tenants } from './tenants.ts'

const SECONDS = 300
const MINUTES = 180

/** The aggregates of a dashboard, within bounds whatever the traffic. */
export class DashboardState {
  /** Changes when the counts begin anew, which no earlier version can be compared with. */
  epoch = 0
  /** Differs for each process. Made at the first use, because Workers have no randomness before a request. */
  get run(): string {
    return (this.#run ??= crypto.randomUUID().slice(0, 8))
  }
  version = 0
  #run: string | undefined
  readonly #clock: Clock
  #tenants = new Tenants()
  #calls = new Calls()
  readonly #arrivals = new Arrivals()
  #avoided = new AvoidedCalls()
  #seconds = new Series(1_000, SECONDS)
  #minutes = new Series(60_000, MINUTES)
  readonly #health = new Health()
  readonly #report: LatestReport | undefined

  constructor(clock: Clock, make?: MakeReport) {
    this.#clock = clock
    if (!make) return
    const onChange = (): void => void (this.version += 1)
    this.#report = new LatestReport(make, onChange, (error) => {
      const message = 'The report of the dashboard failed'
      console.error(`Sluice: ${message}:`, error)
      this.take({ type: 'problem', code: 'report_failed', message })
    })
  }

  /** Called while somebody watches. */
  watch(): void {
    this.#expire()
    void this.#report?.refresh(this.#clock())
  }

  /** Takes the records of another process that have not arrived before. */
  takeBatch(batch: Batch): void {
    const accepted = this.#arrivals.accept(batch)
    this.version += 1
    for (const record of accepted) this.take(record)
  }

  take(record: DashboardRecord): void {
    this.version += 1
    if (record.type === 'decision') this.#decide(record)
    else if (record.type === 'reserved') this.#begin(record)
    else if (record.type === 'problem') this.#health.addProblem(record, this.#clock())
    else this.#end(record)
  }

  #decide(record: DecisionRecord): void {
    const { tenant, allowed, degraded, call, estimateUsd, plan, place, at } = record
    const now = this.#clock()
    this.#health.setStore(degraded, at, now)
    const costOf = (wanted: string) => record.policies.find(({ unit }) => unit === wanted)?.cost
    const tokens = allowed ? tokensOf(costOf) : 0
    const isComplete = this.#arrivals.missing === 0
    this.#change(
      tenant,
      (state) => {
        state.plan = plan
        state.place = place
        state.allowed += allowed ? 1 : 0
        state.denied += allowed ? 0 : 1
        state.degraded += degraded ? 1 : 0
        state.tokens.add(tokens, now)
        state.decide(record, now, isComplete)
        if (!allowed && this.#avoided.deny(tenant, call, estimateUsd)) {
          state.avoidedCalls += 1
          state.avoidedUsd += estimateUsd
        }
        const usd = allowed ? this.#avoided.allow(tenant, call) : undefined
        if (usd === undefined) return
        state.avoidedCalls = Math.max(0, state.avoidedCalls - 1)
        state.avoidedUsd = Math.max(0, state.avoidedUsd - usd)
      },
      { [allowed ? 'allowed' : 'denied']: 1, degraded: degraded ? 1 : 0, tokens },
    )
  }

  #begin(call: ReservedRecord): void {
    const end = this.#calls.begin(call)
    this.#change(call.tenant, (state) => state.begin(call.limiter, call.usd))
    if (end) this.#end(end)
    this.#expire()
  }

  #end(end: SettledRecord | AbandonedRecord): void {
    const found = this.#calls.end(end)
    // A tenant that was forgotten is not counted anew.
    if (!found || !this.#tenants.has(found.call.tenant)) return
    const { call, wasRunning } = found
    const moved = end.type === 'settled' ? end : undefined
    const now = this.#clock()
    this.#change(
      call.tenant,
      (state) => {
        if (wasRunning) state.end(call.limiter, call.usd)
        if (moved) state.settle(call, moved, now)
      },
      { tokens: moved?.tokens ?? 0 },
    )
  }

  /** Ends the calls that nobody settles any more, such as those of a process that died. */
  #expire(): void {
    for (const { tenant, limiter, usd } of this.#calls.expire(this.#clock())) {
      this.version += 1
      if (this.#tenants.has(tenant)) this.#change(tenant, (state) => state.end(limiter, usd))
    }
    this.#endWindows(this.#clock())
  }

  #endWindows(now: number): void {
    if (this.#tenants.endWindows(now, this.version + 1)) this.version += 1
  }

  /** Changes a tenant, and the second and minute of now. */
  #change(name: string, update: (tenant: Tenant) => void, change: PointChange = {}): void {
    const now = this.#clock()
    this.#endWindows(now)
    const tenant = this.#tenants.change(name, now, this.version, update)
    const levels = { all: this.#tenants.levels, tenant: tenant.levels }
    this.#seconds.add(now, name, change, levels, this.version)
    this.#minutes.add(now, name, change, levels, this.version)
  }

  /** Forgets one tenant, or everything. The report is made anew. */
  forget(name?: string): void {
    this.version += 1
    this.epoch += 1
    this.#report?.forget()
    if (name === undefined) {
      this.#tenants = new Tenants()
      this.#calls = new Calls()
      this.#avoided = new AvoidedCalls()
      this.#seconds = new Series(1_000, SECONDS)
      this.#minutes = new Series(60_000, MINUTES)
      this.#health.forgetProblems()
      return
    }
    this.#tenants.forget(name, this.#clock())
    this.#avoided.forget(name)
    this.#seconds.forget(name)
    this.#minutes.forget(name)
    this.#calls.forget(name)
  }

  /** Returns what has changed after `version`: everything after -1. */
  since(version: number): View {
    this.#expire()
    const now = this.#clock()
    return {
      now,
      totals: this.#tenants.totalsAt(now),
      store: this.#health.store,
      problems: this.#health.problems,
      missing: this.#arrivals.missing,
      ...this.#report?.latest,
      ...this.#tenants.since(version, now),
      seconds: this.#seconds.since(version, now),
      minutes: this.#minutes.since(version, now),
    }
  }
}
