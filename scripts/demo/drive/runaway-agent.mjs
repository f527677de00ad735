import { randomBytes } from 'node:crypto'
import { chatClient, priceOf } from './chat-client.mjs'
import { tokensFor } from './route-client.mjs'

const CALLS_PER_ROUND = 64
/** A bound for the agent if no limit stops it. */
const MAX_ROUNDS = 40
const TENANTS = { agent: 'starter', neighbour: 'trial', leaver: 'starter' }
/** The reasons of a refusal, by OpenAI's codes. */
const REFUSALS = {
  insufficient_quota: 'its budget',
  rate_limit_exceeded: 'tokens this minute',
  concurrency_exceeded: 'calls in flight',
}

/**
 * Runs an agent that makes 64 calls at once, again and again, until a whole round is refused.
 * Resolves to the checks, as `checkScenario` does, and a summary.
 */
export async function runawayAgent({ url, secret, storeRequests }, deadline) {
  console.log('runaway agent: 64 model calls at once, again and again, on $0.05 a day')
  const tokens = tokensFor(TENANTS, secret, randomBytes(4).toString('hex'))
  const [agent, neighbour, leaver] = Object.keys(TENANTS).map((tenant) =>
    chatClient(url, tokens.get(tenant), deadline),
  )
  // The first call loads the scripts into Redis.
  await neighbour.call({})
  await neighbour.settled()

  const startedAt = performance.now()
  const run = await runRounds(agent, neighbour, storeRequests)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const calls = run.rounds.flat()
  const spent = calls.filter(isAnswered).reduce((sum, { usage }) => sum + priceOf(usage), 0)
  console.log(`  ${calls.length} calls in ${seconds} s`)

  const summary =
    `The agent made ${calls.length} calls in ${run.rounds.length} rounds: ` +
    `${calls.filter(isAnswered).length} were let through, ${refusalsOf(calls)}. ` +
    `It spent ${dollars(spent)} of ${dollars(run.budget.limit)}.`
  const checks = [
    checkAnswers(calls),
    checkLastRound(run.rounds),
    ...checkBudget(run.budget, spent),
    checkNeighbour(run.neighbourCalls),
    await checkLeaver(leaver),
    ...checkStoreRequests(run),
  ]
  return { checks, summary }
}

/** Runs rounds until one is refused as a whole, each with one call of a neighbour beside it. */
async function runRounds(agent, neighbour, storeRequests) {
  const requestsBefore = storeRequests()
  const rounds = []
  const neighbourCalls = []
  let peeks = 0
  let storeCount
  let budget
  do {
    const round = Array.from({ length: CALLS_PER_ROUND }, () => agent.call({}))
    neighbourCalls.push(await neighbour.call({ max_tokens: 5 }))
    rounds.push(await Promise.all(round))
    const [agentUsage, neighbourUsage] = [await agent.settled(), await neighbour.settled()]
    budget = agentUsage['budget.daily']
    peeks += agentUsage.peeks + neighbourUsage.peeks
    storeCount = storeRequests() - requestsBefore
  } while (rounds.at(-1).some(isAnswered) && rounds.length < MAX_ROUNDS)
  return { rounds, neighbourCalls, peeks, storeCount, budget }
}

const isAnswered = ({ status }) => status === 200
const dollars = (micro) => `$${(micro / 1_000_000).toFixed(4)}`

function refusalsOf(calls) {
  const refusals = calls.filter((call) => !isAnswered(call))
  const parts = Object.entries(REFUSALS).map(([code, reason]) => {
    const count = refusals.filter((call) => call.code === code).length
    return count > 0 ? `${count} refused for ${reason}` : ''
  })
  return parts.filter(Boolean).join(', ')
}

function checkAnswers(calls) {
  const invalid = calls.find(({ status, usage, code, shouldRetry }) =>
    status === 200
      ? !(usage?.completion_tokens > 0)
      : status !== 429 || !REFUSALS[code] || shouldRetry !== (code !== 'insufficient_quota'),
  )
  return {
    claim: 'runaway agent: every answer has its usage, or is a 429 that says whether to retry',
    problem: invalid && JSON.stringify(invalid),
  }
}

function checkLastRound(rounds) {
  const last = rounds.at(-1)
  const isStopped = last.every(({ code }) => code === 'insufficient_quota')
  return {
    claim: 'runaway agent: its budget stopped it, all 64 of the last round',
    problem: isStopped ? undefined : `${refusalsOf(last) || 'nothing'} in round ${rounds.length}`,
  }
}

function checkBudget({ limit, used }, spent) {
  return [
    {
      claim: 'runaway agent: it spent no more than its budget',
      problem: spent <= limit ? undefined : `${dollars(spent)} of ${dollars(limit)}`,
    },
    {
      claim: 'runaway agent: its budget lost exactly what the usage of its answers costs',
      problem: spent === used ? undefined : `${spent} and ${used} micro-dollars`,
    },
  ]
}

function checkNeighbour(calls) {
  const refused = calls.find((call) => !isAnswered(call))
  return {
    claim: 'runaway agent: another tenant was answered in every round',
    problem: refused && `status ${refused.status}, ${refused.code}`,
  }
}

/** Checks the charge of a client that disconnects in the middle of an answer. */
async function checkLeaver(leaver) {
  const { words, reserved } = await leaver.leaveAfter(20)
  const usage = await leaver.settled()
  const charged = usage['budget.daily'].used
  // A word is one token or more.
  const produced = priceOf({ prompt_tokens: 0, completion_tokens: words.length })
  const isCorrect = usage['in-flight'].used === 0 && charged >= produced && charged < reserved
  return {
    claim: 'an aborted answer is charged for the part that was written, and its slot is free',
    problem: isCorrect
      ? undefined
      : `${charged} of ${reserved} charged for at least ${produced}, ` +
        `${usage['in-flight'].used} in flight`,
  }
}

function checkStoreRequests({ rounds, neighbourCalls, peeks, storeCount }) {
  // Requests to Upstash cannot be counted from here.
  if (Number.isNaN(storeCount)) return []
  const calls = [...rounds.flat(), ...neighbourCalls]
  const expected = calls.length + calls.filter(isAnswered).length + peeks
  return [
    {
      claim: 'a model call is two requests to the store, and a refused one is one',
      problem: storeCount === expected ? undefined : `${storeCount} requests, not ${expected}`,
    },
  ]
}
