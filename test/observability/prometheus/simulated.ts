export const HOUR = 60
export const DAY = 24 * HOUR

/** Ordinary days, and the hour of an incident; by the minute. */
export const QUIET = 9 * DAY
export const MINUTES = QUIET + HOUR

/** The traffic of one minute. Errors are decisions that failed in the store; slow ones took longer than 100 ms. */
interface Minute {
  readonly decisions: number
  readonly denied: number
  readonly errors: number
  readonly slow: number
  readonly budgetUsed: number
  readonly jobsDone: number
  readonly jobsFailed: number
  /** The age of the oldest job, in seconds. */
  readonly oldest: number
  /** Waits in a line that were let in, those of them that took longer than 30 s, and those that ended in vain. */
  readonly waits: number
  readonly waitsLong: number
  readonly waitsInVain: number
  /** A limit that follows its upstream, of 200 in the code, and its denials. */
  readonly limit: number
  readonly limitDenied: number
}

/** The reports of a service in the minutes of the last hour; `undefined` while its endpoint is gone. */
export type Incident = (minute: Minute, index: number) => Minute | undefined

/** A service: its incident, and the decisions that it makes without the store. */
export interface Service {
  readonly job: string
  /** Its size: 1 has 600 decisions a minute. */
  readonly size: number
  readonly incident: Incident
  readonly degraded?: 'allow' | 'local' | 'deny'
  /** Its requests wait in a line, and a limit follows its upstream; it reports neither a store nor jobs. */
  readonly hasLines?: boolean
}

/** A number from 0 to 1 that depends on `minute` alone. */
const noise = (minute: number): number => ((minute * 7_919) % 1_009) / 1_009

/** A minute of an ordinary week: days and nights, some denials, an error of the store now and then. */
function normal(minute: number, size: number): Minute {
  const day = Math.sin((2 * Math.PI * minute) / DAY)
  const decisions = Math.round(600 * size * (1 + 0.6 * day) * (0.8 + 0.4 * noise(minute)))
  return {
    decisions,
    denied: Math.round(decisions * 0.03 * noise(minute + 1)),
    errors: minute % (5 * HOUR) === 0 ? 1 : 0,
    slow: Math.round(decisions * 0.04 * noise(minute + 2)),
    budgetUsed: (minute % (30 * DAY)) / (30 * DAY),
    jobsDone: Math.round(decisions * 0.1),
    jobsFailed: Math.round(decisions * 0.003 * noise(minute + 3)),
    oldest: Math.round(3_000 * noise(minute + 4)),
    waits: Math.round(decisions * 0.1),
    waitsLong: Math.round(decisions * 0.04 * noise(minute + 5)),
    waitsInVain: Math.round(decisions * 0.015 * noise(minute + 6)),
    ...adaptedLimit(minute, decisions),
  }
}

/** An upstream that is in trouble for eight minutes, four times a day; and with little traffic a limit that stays at its min. */
function adaptedLimit(minute: number, decisions: number): Pick<Minute, 'limit' | 'limitDenied'> {
  const isInTrouble = minute % (6 * HOUR) < 8
  const limit = decisions < 40 || isInTrouble ? 20 : 60 + Math.round(140 * noise(minute + 7))
  return { limit, limitDenied: isInTrouble ? Math.round(decisions * 0.02) : 0 }
}

/** A day's deployment: the endpoint is gone for two minutes, then counts from 0. */
const isDeployment = (minute: number): boolean => minute % DAY === 9 * HOUR || minute % DAY === 541

/** The series that Prometheus would have scraped of a service, with its incident in the last hour. */
export function seriesOf(
  { job, size, incident, degraded = 'local', hasLines = false }: Service,
  length = MINUTES,
) {
  const begin = length - HOUR
  const minutes = Array.from({ length }, (_, minute) => {
    if (minute < begin) return isDeployment(minute) ? undefined : normal(minute, size)
    return incident(normal(minute, size), minute - begin)
  })
  const counter = (series: string, valueOf: (minute: Minute) => number): object => {
    let sum = 0
    const values = minutes.map((minute, index) => {
      if (!minutes[index - 1]) sum = 0
      return minute ? (sum += valueOf(minute)) : '_'
    })
    return { series, values: values.join(' ') }
  }
  const gauge = (series: string, valueOf: (minute: Minute | undefined) => number | string) => ({
    series,
    values: minutes.map(valueOf).join(' '),
  })
  const decisions = (labels: string) => `rate_limiter_decisions_total{job="${job}",${labels}}`
  const waitCounts = (outcome: string, kind = 'count', more = ''): string =>
    `rate_limiter_wait_duration_seconds_${kind}{job="${job}",rate_limiter_policy="line",rate_limiter_outcome="${outcome}"${more}}`
  const denied = 'rate_limiter_outcome="denied"'
  const allowed = 'rate_limiter_outcome="allowed"'
  const mode = `rate_limiter_degraded_mode="${degraded}"`
  const store = `{job="${job}",rate_limiter_store_call="check"`
  const duration = 'rate_limiter_store_duration_seconds'
  // Half of what is decided by a share of the limit in each process is denied.
  const refused = degraded === 'deny' ? 1 : degraded === 'allow' ? 0 : 0.5
  const failed = ({ errors }: Minute): number => Math.round(errors * refused)
  const all = [
    counter(decisions(allowed), (minute) => {
      const { decisions: made, denied: byRpm, errors, limitDenied, waitsInVain } = minute
      return Math.max(0, made - byRpm - errors - (hasLines ? limitDenied + waitsInVain : 0))
    }),
    counter(decisions(`${denied},rate_limiter_policy="rpm"`), (minute) => minute.denied),
    gauge(`up{job="${job}",instance="a"}`, (minute) => (minute ? 1 : 0)),
  ]
  if (hasLines) {
    const limit = `{job="${job}",rate_limiter_policy="model"}`
    return [
      ...all,
      counter(decisions(`${denied},rate_limiter_policy="model"`), (minute) => minute.limitDenied),
      counter(decisions(`${denied},rate_limiter_policy="line"`), (minute) => minute.waitsInVain),
      counter(waitCounts('denied'), ({ waitsInVain }) => waitsInVain),
      counter(waitCounts('allowed'), ({ waits }) => waits),
      counter(
        waitCounts('allowed', 'bucket', ',le="30"'),
        (minute) => minute.waits - minute.waitsLong,
      ),
      gauge(`rate_limiter_limit${limit}`, (minute) => minute?.limit ?? '_'),
      gauge(`rate_limiter_limit_max${limit}`, (minute) => (minute ? 200 : '_')),
    ]
  }
  return [
    ...all,
    counter(decisions(`${allowed},${mode}`), (minute) => minute.errors - failed(minute)),
    counter(
      decisions(`${denied},${mode}${degraded === 'local' ? ',rate_limiter_policy="rpm"' : ''}`),
      failed,
    ),
    counter(`${duration}_count${store}}`, (minute) => minute.decisions - minute.errors),
    counter(
      `${duration}_bucket${store},le="0.1"}`,
      (minute) => minute.decisions - minute.errors - minute.slow,
    ),
    counter(`${duration}_count${store},error_type="store_timeout"}`, ({ errors }) => errors),
    counter(`${duration}_bucket${store},error_type="store_timeout",le="0.1"}`, () => 0),
    gauge(
      `rate_limiter_budget_used_ratio{job="${job}",rate_limiter_policy="month"}`,
      (minute) => minute?.budgetUsed ?? '_',
    ),
    ...(['done', 'failed'] as const).map((outcome) =>
      counter(
        `rate_limiter_jobs_total{job="${job}",rate_limiter_queue="q",rate_limiter_outcome="${outcome}"}`,
        (minute) => (outcome === 'done' ? minute.jobsDone : minute.jobsFailed),
      ),
    ),
    gauge(
      `rate_limiter_queue_oldest_seconds{job="${job}",rate_limiter_queue="q"}`,
      (minute) => minute?.oldest ?? '_',
    ),
  ]
}
