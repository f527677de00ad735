import { PLANS } from './scenarios.mjs'

const MINUTE_MS = 60_000
const REASONS = { rpm: 'rate_limit_exceeded', daily: 'daily_quota_exceeded' }

/** Checks the answers of a scenario: a list of `{ claim, problem }`, without a problem if it holds. */
export function checkScenario(scenario, records) {
  const durationMs = Math.max(...records.map((record) => record.endedAt)) - records[0].startedAt
  const checks = [checkAnswers(scenario, records), checkWindow(scenario, records)]
  // After a minute the window moves on, and the counts depend on the speed of the machine.
  if (durationMs < MINUTE_MS) checks.push(...checkCounts(scenario, records))
  return checks
}

function checkAnswers({ name }, records) {
  const invalid = records.find((record) => {
    if (record.status === 200) return false
    const { status, error, policy, retryAfter } = record
    return status !== 429 || error !== REASONS[policy] || !/^[1-9]\d*$/.test(retryAfter ?? '')
  })
  const answer =
    invalid && `status ${invalid.status}, ${invalid.error}, Retry-After ${invalid.retryAfter}`
  return {
    claim: `${name}: every answer is 200, or a 429 that says why and when to retry`,
    problem: invalid && `${invalid.tenant} got ${answer}`,
  }
}

/** Compares the requests that certainly were allowed within one minute with the limit. */
function checkWindow({ name, tenants }, records) {
  const claim = `${name}: no minute holds more than the limit`
  for (const [key, allowed] of byTenantAndRoute(records.filter(isAllowed))) {
    const limit = PLANS[tenants[allowed[0].tenant]].rpm
    for (const first of allowed) {
      const until = first.startedAt + MINUTE_MS
      const count = allowed.filter(
        ({ startedAt, endedAt }) => startedAt >= first.startedAt && endedAt < until,
      ).length
      if (count > limit) {
        return { claim, problem: `${key}: ${count} allowed at a limit of ${limit}` }
      }
    }
  }
  return { claim }
}

function checkCounts({ name, expected }, records) {
  return Object.entries(expected).map(([tenant, counts]) => {
    const answers = records.filter((record) => record.tenant === tenant)
    const { allowed, ...denied } = counts
    const sent = Object.values(counts).reduce((sum, count) => sum + count)
    const actual = `allowed ${answers.filter(isAllowed).length}, denied ${describe(deniedBy(answers))}`
    const correct = `allowed ${allowed}, denied ${describe(denied)}`
    const isCorrect = answers.length === sent && actual === correct
    return {
      claim: `${name}: ${tenant} sent ${sent}, ${correct}`,
      problem: isCorrect ? undefined : `sent ${answers.length}, ${actual}`,
    }
  })
}

export const isAllowed = (record) => record.status === 200

/** Groups records by tenant and route, because each pair has its own window. */
function byTenantAndRoute(records) {
  const byKey = new Map()
  for (const record of records) {
    const key = `${record.tenant} on ${record.route}`
    byKey.set(key, [...(byKey.get(key) ?? []), record])
  }
  return byKey
}

/** Counts the denials of each policy, by its name. */
export function deniedBy(records) {
  const counts = {}
  for (const { status, policy = '?' } of records) {
    if (status !== 200) counts[policy] = (counts[policy] ?? 0) + 1
  }
  return counts
}

/** Describes the denials of each policy, such as `180 by rpm`. */
export function describe(denials) {
  const parts = Object.entries(denials).map(([policy, count]) => `${count} by ${policy}`)
  return parts.join(', ') || '0'
}
