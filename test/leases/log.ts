/** A decision in the log of a process. Times are in epoch ms. */
export interface LoggedDecision {
  /** The process' time before the decision. */
  readonly before: number
  /** The time of the decision: of Redis, or of the process if a lease served it. */
  readonly at: number
  /** The process' time after the decision. */
  readonly after: number
  readonly tenant: string
  readonly plan: string
  readonly route: string
  readonly units: number
  readonly allowed: boolean
  /** True if no call was made for it, because leases served it, … */
  readonly isLeased: boolean
  /** … or because a denial was cached. */
  readonly isCached: boolean
}

/** A reset of one tenant, which happened at some time in this span. */
export interface LoggedReset {
  readonly tenant: string
  readonly before: number
  readonly after: number
}

/** Writes a decision as one line. */
export const lineOf = (one: LoggedDecision): string =>
  `${one.before} ${one.at} ${one.after} ${one.tenant} ${one.plan} ${one.route} ${one.units} ${one.allowed ? 'yes' : 'no'} ${sourceOf(one)}\n`

const sourceOf = ({ isLeased, isCached }: LoggedDecision): string =>
  isLeased ? 'lease' : isCached ? 'cache' : 'store'

/** Reads the lines of a process. The last line of one that was killed may be torn. */
export function parseLog(text: string): LoggedDecision[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [before, at, after, tenant = '', plan = '', route = '', units, allowed, source] =
        line.split(' ')
      return {
        before: Number(before),
        at: Number(at),
        after: Number(after),
        tenant,
        plan,
        route,
        units: Number(units),
        allowed: allowed === 'yes',
        isLeased: source === 'lease',
        isCached: source === 'cache',
      }
    })
}
