import { RPM } from './scenarios.mjs'

const MINUTE_MS = 60_000
const REASONS = { rpm: 'rate_limit_exceeded', daily: 'daily_quota_exceeded' }

/** Checks the answers of a scenario: a list of `{ claim, problem }`, without a problem if it holds. */
export function checkScenario({ name, tenants, expected }, records) {
  const invalid = records.find(
    ({ status, error, policy, retryAfter }) =>
      status !== 200 &&
      !(status === 429 && error === REASONS[policy] && /^[1-9]\d*$/.test(retryAfter ?? '')),
  )
  const checks = [
    {
      claim: `${name}: every answer is 200, or a 429 that says why and when to retry`,
      problem: invalid && JSON.stringify(invalid),
    },
    { claim: `${name}: no minute holds more than the limit`, problem: overfull(tenants, records) },
  ]
  const durationMs = Math.max(...records.map(({ endedAt }) => endedAt)) - records[0].startedAt
  // After a minute the window moves on, and the counts depend on the speed of the machine.
  if (durationMs >= MINUTE_MS) return checks
  const counts = Object.entries(expected).map(([tenant, counted]) => {
    const found = describe(records.filter((record) => record.tenant === tenant))
    const problem = found === counted ? undefined : found
    return { claim: `${name}: ${tenant} has ${counted}`, problem }
  })
  return [...checks, ...counts]
}

/** Finds a minute that certainly holds more requests of a tenant on a route than its limit. */
function overfull(tenants, records) {
  const allowed = records.filter(isAllowed)
  for (const first of allowed) {
    const until = first.startedAt + MINUTE_MS
    const count = allowed.filter(
      ({ tenant, path, startedAt, endedAt }) =>
        tenant === first.tenant &&
        path === first.path &&
        startedAt >= first.startedAt &&
        endedAt < until,
    ).length
    const limit = RPM[tenants[first.tenant]]
    if (count > limit) return `${first.tenant}: ${count} allowed at a limit of ${limit}`
  }
  return undefined
}

export const isAllowed = ({ status }) => status === 200
/** Describes how answers came out, such as `20 allowed, 180 denied by rpm`. */
function describe(records) {
  const denied = records.filter((record) => !isAllowed(record)).map(({ policy }) => policy ?? '?')
  const parts = [...new Set(denied)].map(
    (name) => `, ${denied.filter((one) => one === name).length} denied by ${name}`,
  )
  return `${records.length - denied.length} allowed${parts.join('')}`
}
