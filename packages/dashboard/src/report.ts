import type { FindingView, ShadowView } from './view.ts'

/** The parts of the page that are made from recorded usage. */
export interface Report {
  /** Observations that somebody should look at, such as `findings` of `@sluice/usage/report`. @default not shown */
  readonly findings?: readonly FindingView[]
  /** The policies in shadow, such as those of `shadowReport` of `@sluice/usage/report`. @default not shown */
  readonly shadow?: readonly ShadowView[]
}

/** Makes a report. */
export type MakeReport = () => Promise<Report>

const REFRESH_MS = 10_000

/** The tenants that are shown of a policy in shadow. */
const SHADOW_TENANTS = 3

/** The latest report. A new one is made only while somebody watches, one at a time. */
export class LatestReport {
  latest: Report = {}
  readonly #make: MakeReport
  readonly #onChange: () => void
  readonly #onError: (error: unknown) => void
  #nextAt = 0
  /** The report that is being made; `undefined` for none. */
  #current: symbol | undefined

  constructor(make: MakeReport, onChange: () => void, onError: (error: unknown) => void) {
    this.#make = make
    this.#onChange = onChange
    this.#onError = onError
  }

  /** Makes a new report, if the latest is old. */
  async refresh(now: number): Promise<void> {
    if (this.#current || now < this.#nextAt) return
    const current = (this.#current = Symbol('report'))
    try {
      const report = shownPart(await this.#make())
      if (this.#current === current) this.#replace(report)
    } catch (error) {
      this.#onError(error)
    } finally {
      if (this.#current === current) {
        this.#current = undefined
        this.#nextAt = now + REFRESH_MS
      }
    }
  }

  /** Drops the latest report, and one that is being made. */
  forget(): void {
    this.latest = {}
    this.#current = undefined
    this.#nextAt = 0
  }

  #replace(report: Report): void {
    const isSame = JSON.stringify(report) === JSON.stringify(this.latest)
    this.latest = report
    if (!isSame) this.#onChange()
  }
}

/** Returns the fields that the page shows, for reports may have more. */
const shownPart = ({ findings, shadow }: Report): Report => ({
  ...(findings && { findings: findings.map(({ tenant, text }) => ({ tenant, text })) }),
  ...(shadow && { shadow: shadow.map(shownShadow) }),
})

const shownShadow = ({ tenants, ...counts }: ShadowView): ShadowView => ({
  policy: counts.policy,
  requests: counts.requests,
  denied: counts.denied,
  tokens: counts.tokens,
  usd: counts.usd,
  tenants: tenants.slice(0, SHADOW_TENANTS).map(({ tenant, denied }) => ({ tenant, denied })),
})
