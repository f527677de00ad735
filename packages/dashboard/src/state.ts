import type { Clock } from '@sluice/core'
import type { DashboardRecord, DecisionRecord, ReservedRecord, SettledRecord } from './record.ts'
import type { Tenant } from './tenant.ts'
import type { View } from './view.ts'
import { AvoidedCalls } from './avoided.ts'
import { Health } from './health.ts'
import { LatestReport, type MakeReport } from './report.ts'
import { Series, type PointChange } from './series.ts'
import { Tenants } from './tenants.ts'

const SECONDS = 300
const MINUTES = 180
/** The most calls that are remembered as running. The oldest counts as ended with its estimate. */
const MAX_RUNNING = 10_000

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
  #running = new Map<string, ReservedRecord>()
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
    void this.#report?.refresh(this.#clock())
  }

  take(record: DashboardRecord): void {
    this.version += 1
    if (record.type === 'decision') this.#decide(record)
    else if (record.type === 'reserved') this.#begin(record)
    else if (record.type === 'problem') this.#health.addProblem(record, this.#clock())
    else this.#end(record.id, record.type === 'settled' ? record : undefined)
  }

  #decide(record: DecisionRecord): void {
    const { tenant, allowed, degraded, call, estimateUsd, plan } = record
    const now = this.#clock()
    this.#health.setStore(degraded, now)
    const tokens = allowed ? (record.policies.find(({ unit }) => unit === 'token')?.cost ?? 0) : 0
    this.#change(
      tenant,
      (state) => {
        state.plan = plan
        state.allowed += allowed ? 1 : 0
        state.denied += allowed ? 0 : 1
        state.degraded += degraded ? 1 : 0
        state.tokens += tokens
        state.decide(record, now)
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
    this.#running.set(call.id, call)
    this.#change(call.tenant, (state) => state.begin(call.limiter, call.usd))
    const [oldest] = this.#running.keys()
    if (oldest !== undefined && this.#running.size > MAX_RUNNING) this.#end(oldest)
  }

  #end(id: string, moved?: SettledRecord): void {
    const call = this.#running.get(id)
    this.#running.delete(id)
    // Reserved before this dashboard began, or by a tenant that it has forgotten.
    if (!call || !this.#tenants.has(call.tenant)) return
    const tokens = (moved?.overrun['token'] ?? 0) - (moved?.returned['token'] ?? 0)
    this.#change(call.tenant, (state) => state.end(call.limiter, call.usd, moved), { tokens })
  }

  /** Changes a tenant, and the second and minute of now. */
  #change(name: string, update: (tenant: Tenant) => void, change: PointChange = {}): void {
    const now = this.#clock()
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
      this.#running = new Map()
      this.#avoided = new AvoidedCalls()
      this.#seconds = new Series(1_000, SECONDS)
      this.#minutes = new Series(60_000, MINUTES)
      this.#health.forgetProblems()
      return
    }
    this.#tenants.forget(name)
    this.#avoided.forget(name)
    this.#seconds.forget(name)
    this.#minutes.forget(name)
    for (const [id, { tenant }] of this.#running) if (tenant === name) this.#running.delete(id)
  }

  /** Returns what has changed after `version`: everything after -1. */
  since(version: number): View {
    const now = this.#clock()
    return {
      now,
      totals: this.#tenants.totals,
      store: this.#health.store,
      problems: this.#health.problems,
      ...this.#report?.latest,
      tenants: this.#tenants.since(version),
      seconds: this.#seconds.since(version, now),
      minutes: this.#minutes.since(version, now),
    }
  }
}
