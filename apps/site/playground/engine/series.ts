import type { Run } from './recording.ts'

/** One stretch of the time line. */
export interface Bin {
  readonly fromMs: number
  allowed: number
  denied: number
}

const SECOND = 1_000
/** The lengths of a stretch, so that times read well. */
const LENGTHS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1_440].map((minutes) => minutes * 60 * SECOND),
]
const MOST_BINS = 75

/** Returns the length of the stretches into which a run is divided. */
export const binLength = ({ endMs }: Run): number =>
  LENGTHS.find((length) => endMs / length < MOST_BINS) ?? Math.ceil(endMs / MOST_BINS)

/** Counts the decisions of each stretch, for a tenant or for all. */
export function countsOf(run: Run, tenant?: string): Bin[] {
  const length = binLength(run)
  const bins = emptyBins(run, (fromMs): Bin => ({ fromMs, allowed: 0, denied: 0 }))
  for (const step of run.steps) {
    if (tenant !== undefined && step.tenant !== tenant) continue
    const bin = bins[Math.floor(step.at / length)]
    if (bin) bin[step.allowed ? 'allowed' : 'denied'] += 1
  }
  return bins
}

/**
 * Returns the units that a policy has left for a tenant at the end of each stretch: as the last decision says it,
 * `undefined` in a stretch without one.
 */
export function remainingOf(run: Run, tenant: string, policy: number): (number | undefined)[] {
  const length = binLength(run)
  const left = emptyBins(run, (): number | undefined => undefined)
  const isShared = run.policies[policy]?.isShared
  for (const { at, tenant: own, remaining } of run.steps) {
    if (isShared || own === tenant) left[Math.floor(at / length)] = remaining[policy]
  }
  return left
}

/** The figures of a tenant, or of all. */
export interface Figures {
  readonly tenant: string
  requests: number
  allowed: number
  denied: number
  /** The time of the first denial. */
  firstDenied: number | undefined
}

/** Returns the figures of each tenant, those with most requests first. */
export function figuresOf({ steps, tenants }: Run): Figures[] {
  const figures = new Map(tenants.map((tenant) => [tenant, noFigures(tenant)]))
  for (const { tenant, allowed, at } of steps) {
    const own = figures.get(tenant)
    if (!own) continue
    own.requests += 1
    own[allowed ? 'allowed' : 'denied'] += 1
    if (!allowed) own.firstDenied ??= at
  }
  return [...figures.values()].toSorted((a, b) => b.requests - a.requests)
}

const noFigures = (tenant: string): Figures => ({
  tenant,
  requests: 0,
  allowed: 0,
  denied: 0,
  firstDenied: undefined,
})

function emptyBins<T>(run: Run, make: (fromMs: number) => T): T[] {
  const length = binLength(run)
  const count = Math.floor(run.endMs / length) + 1
  return Array.from({ length: count }, (_, index) => make(index * length))
}

const two = (value = 0): string => String(value % 60).padStart(2, '0')

/** A time since the start, such as `1:05`, `2:00:00` or `0:00.250`. */
export function timeText(ms: number, withMs = false): string {
  const [hours, minutes, seconds] = [3_600_000, 60_000, 1_000].map((unit) => Math.floor(ms / unit))
  const whole = hours ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
  return withMs || ms % 1_000 > 0 ? `${whole}.${String(ms % 1_000).padStart(3, '0')}` : whole
}
