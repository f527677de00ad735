import { PLANS } from './scenarios.mjs'

const MINUTE_MS = 60_000
const REASONS = { rpm: 'rate_limit_exceeded', daily: 'daily_quota_exceeded' }

/** What must hold of a scenario's answers: a list of `{ claim, problem }`, without problem if it held. */
export function check(scenario, records) {
  const took = Math.max(...records.map((record) => record.endedAt)) - records[0].startedAt
  const checks = [wellFormed(scenario, records), window(scenario, records)]
  // In more than a minute the window moves on, and how many fit depends on the machine's speed.
  if (took < MINUTE_MS) checks.push(...counts(scenario, records))
  return checks
}

function wellFormed({ name }, records) {
  const odd = records.find((record) => {
    if (record.status === 200) return false
    const { status, error, policy, retryAfter } = record
    return status !== 429 || error !== REASONS[policy] || !/^[1-9]\d*$/.test(retryAfter ?? '')
  })
  const told = odd && `status ${odd.status}, ${odd.error}, Retry-After ${odd.retryAfter}`
  return {
    claim: `${name}: every answer is 200, or a 429 that says why and when to come back`,
    problem: odd && `${odd.tenant} got ${told}`,
  }
}

/** The most requests that are certain to have been allowed within one minute, against the limit. */
function window({ name, tenants }, records) {
  const claim = `${name}: no minute holds more than the limit`
  for (const [key, allowed] of groups(records.filter(isAllowed))) {
    const limit = PLANS[tenants[allowed[0].tenant]].rpm
    for (const first of allowed) {
      const until = first.startedAt + MINUTE_MS
      const held = allowed.filter(
        ({ startedAt, endedAt }) => startedAt >= first.startedAt && endedAt < until,
      ).length
      if (held > limit) return { claim, problem: `${key}: ${held} allowed at a limit of ${limit}` }
    }
  }
  return { claim }
}

function counts({ name, expected }, records) {
  return Object.entries(expected).map(([tenant, wanted]) => {
    const own = records.filter((record) => record.tenant === tenant)
    const { allowed, ...denied } = wanted
    const sent = Object.values(wanted).reduce((sum, count) => sum + count)
    const got = `allowed ${own.filter(isAllowed).length}, denied ${describe(deniedBy(own))}`
    const right = `allowed ${allowed}, denied ${describe(denied)}`
    const isRight = own.length === sent && got === right
    return {
      claim: `${name}: ${tenant} sent ${sent}, ${right}`,
      problem: isRight ? undefined : `sent ${own.length}, ${got}`,
    }
  })
}

export const isAllowed = (record) => record.status === 200

/** The records of each tenant and route, as each pair has a window of its own. */
function groups(records) {
  const byKey = new Map()
  for (const record of records) {
    const key = `${record.tenant} on ${record.route}`
    byKey.set(key, [...(byKey.get(key) ?? []), record])
  }
  return byKey
}

/** The number of denials by the name of the policy that denied. */
export function deniedBy(records) {
  const counted = {}
  for (const { status, policy = '?' } of records) {
    if (status !== 200) counted[policy] = (counted[policy] ?? 0) + 1
  }
  return counted
}

/** As in `180 by rpm`. */
export function describe(denied) {
  const parts = Object.entries(denied).map(([policy, count]) => `${count} by ${policy}`)
  return parts.join(', ') || '0'
}
