import { isAllowed } from './checks.mjs'
import { clientOf } from './client.mjs'

const CALLS_PER_ROUND = 64
/** A bound for the agent if no limit stops it. */
const MAX_ROUNDS = 40
/** The reasons of a refusal, by OpenAI's codes. */
const REFUSALS = {
  insufficient_quota: 'its budget',
  rate_limit_exceeded: 'tokens this minute',
  concurrency_exceeded: 'calls in flight',
}

/** Returns the price of a call in micro-dollars: 2 and 10 dollars for a million tokens. */
const priceOf = ({ usage }) =>
  Math.ceil((usage?.prompt_tokens ?? 0) * 2 + (usage?.completion_tokens ?? 0) * 10)
const dollars = (micro) => `$${(micro / 1_000_000).toFixed(4)}`

/**
 * Runs an agent that makes 64 calls at once, again and again, until a whole round is refused, each round with one call
 * of a neighbour beside it. Resolves to the checks, as `checkScenario` does, and a summary.
 */
export async function runawayAgent(stack) {
  console.log('runaway agent: 64 model calls at once, again and again, on $0.05 a day')
  const agent = clientOf(stack, 'agent', 'starter')
  const neighbour = clientOf(stack, 'neighbour', 'trial')
  // The first call loads the scripts into Redis.
  await neighbour.chat({})
  await neighbour.settled()
  const before = stack.storeRequests()
  const [rounds, beside] = [[], []]
  let [budget, peeks] = [undefined, 0]
  do {
    const round = Array.from({ length: CALLS_PER_ROUND }, () => agent.chat({}))
    beside.push(await neighbour.chat({ max_tokens: 5 }))
    rounds.push(await Promise.all(round))
    budget = await agent.settled()
    peeks += budget.peeks + (await neighbour.settled()).peeks
  } while (rounds.at(-1).some(isAllowed) && rounds.length < MAX_ROUNDS)
  const storeCount = stack.storeRequests() - before

  const calls = rounds.flat()
  const answered = calls.filter(isAllowed)
  const spent = answered.reduce((sum, call) => sum + priceOf(call), 0)
  const summary =
    `The agent made ${calls.length} calls in ${rounds.length} rounds: ${answered.length} were let through, ` +
    `${refusalsOf(calls)}. It spent ${dollars(spent)} of ${dollars(budget.limit)}.`
  const invalid = calls.find(({ status, usage, error, shouldRetry }) =>
    status === 200
      ? !(usage?.completion_tokens > 0)
      : status !== 429 ||
        !REFUSALS[error?.code] ||
        shouldRetry !== (error.code !== 'insufficient_quota'),
  )
  const stoppedBy = refusalsOf(rounds.at(-1))
  const checks = []
  const check = (claim, holds, found) =>
    checks.push({ claim: `runaway agent: ${claim}`, problem: holds ? undefined : found })
  check(
    'every answer has its usage, or is a 429 that says whether to retry',
    !invalid,
    JSON.stringify(invalid),
  )
  const isStopped = stoppedBy === `${CALLS_PER_ROUND} refused for its budget`
  check('its budget stopped it, all 64 of the last round', isStopped, stoppedBy)
  check('it spent no more than its budget', spent <= budget.limit, dollars(spent))
  const both = `${spent} and ${budget.used} micro-dollars`
  check('its budget lost exactly what its answers cost', spent === budget.used, both)
  const refused = beside.find((call) => !isAllowed(call))
  check('another tenant was answered in every round', !refused, JSON.stringify(refused))
  // Requests to Upstash cannot be counted from here.
  if (!Number.isNaN(storeCount)) {
    const expected =
      [...calls, ...beside, ...[...calls, ...beside].filter(isAllowed)].length + peeks
    const claim = 'a model call is at most two requests to the store, and a refused one is one'
    // Calls at once share a request.
    const isShared = storeCount > 0 && storeCount <= expected
    check(claim, isShared, `${storeCount} requests, not ${expected} at most`)
  }
  return { checks, summary }
}

function refusalsOf(calls) {
  const parts = Object.entries(REFUSALS).map(([code, reason]) => {
    const count = calls.filter(({ error }) => error?.code === code).length
    return count > 0 ? `${count} refused for ${reason}` : ''
  })
  return parts.filter(Boolean).join(', ') || 'none refused'
}
