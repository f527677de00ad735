import { randomBytes } from 'node:crypto'
import { chatter, priceOf } from './chat-client.mjs'
import { tokensFor } from './route-client.mjs'

const AT_ONCE = 64
/** It is stopped long before; a limiter that does not would let it run on. */
const MAX_ROUNDS = 40
const TENANTS = { agent: 'starter', neighbour: 'trial', leaver: 'starter' }
/** Why a call may be refused, as OpenAI names it. */
const REFUSALS = {
  insufficient_quota: 'its budget',
  rate_limit_exceeded: 'tokens this minute',
  concurrency_exceeded: 'calls in flight',
}

/**
 * An agent that has run away: 64 calls at once, again and again, until a whole round is refused. Returns
 * the claims about it, as `check` does, and a summary.
 */
export async function runawayAgent({ url, secret, storeRequests }, deadline) {
  console.log('runaway agent: 64 model calls at once, again and again, on $0.05 a day')
  const tokens = tokensFor(TENANTS, secret, randomBytes(4).toString('hex'))
  const [agent, neighbour, leaver] = Object.keys(TENANTS).map((tenant) =>
    chatter(url, tokens.get(tenant), deadline),
  )
  // The first call loads the scripts into Redis.
  await neighbour.call({})
  await neighbour.settled()

  const startedAt = performance.now()
  const before = storeRequests()
  const [rounds, others] = [[], []]
  let [asked, looked] = [0, 0]
  let after
  do {
    const round = Array.from({ length: AT_ONCE }, () => agent.call({}))
    others.push(await neighbour.call({ max_tokens: 5 }))
    rounds.push(await Promise.all(round))
    const [own, near] = [await agent.settled(), await neighbour.settled()]
    after = own
    looked += own.looks + near.looks
    asked = storeRequests() - before
  } while (rounds.at(-1).some(isAnswered) && rounds.length < MAX_ROUNDS)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)

  const calls = rounds.flat()
  const spent = calls.filter(isAnswered).reduce((sum, { usage }) => sum + priceOf(usage), 0)
  const budget = after['budget.daily']
  console.log(`  ${calls.length} calls in ${seconds} s`)
  const summary =
    `The agent made ${calls.length} calls in ${rounds.length} rounds: ` +
    `${calls.filter(isAnswered).length} were let through, ${refusalsOf(calls)}. ` +
    `It spent ${dollars(spent)} of ${dollars(budget.limit)}.`
  const checks = [
    wellFormed(calls),
    stopped(rounds),
    {
      claim: 'runaway agent: it spent no more than its budget',
      problem: spent <= budget.limit ? undefined : `${dollars(spent)} of ${dollars(budget.limit)}`,
    },
    {
      claim: 'runaway agent: what its answers say they used is what its budget has lost',
      problem: spent === budget.used ? undefined : `${spent} and ${budget.used} micro-dollars`,
    },
    unharmed(others),
    await leaving(leaver),
  ]
  if (!Number.isNaN(asked)) {
    const all = [...calls, ...others]
    const wanted = all.length + all.filter(isAnswered).length + looked
    const problem = asked === wanted ? undefined : `${asked} requests in place of ${wanted}`
    const claim = 'a model call is two requests to the store, and a refused one is one'
    checks.push({ claim, problem })
  }
  return { checks, summary }
}

const isAnswered = ({ status }) => status === 200
const dollars = (micro) => `$${(micro / 1_000_000).toFixed(4)}`

function refusalsOf(calls) {
  const refused = calls.filter((call) => !isAnswered(call))
  const parts = Object.entries(REFUSALS).map(([code, why]) => {
    const count = refused.filter((call) => call.code === code).length
    return count > 0 ? `${count} refused for ${why}` : ''
  })
  return parts.filter(Boolean).join(', ')
}

function wellFormed(calls) {
  const odd = calls.find(({ status, usage, code, shouldRetry }) =>
    status === 200
      ? !(usage?.completion_tokens > 0)
      : status !== 429 || !REFUSALS[code] || shouldRetry !== (code !== 'insufficient_quota'),
  )
  return {
    claim: 'runaway agent: every answer tells its usage, or is a 429 that says whether to retry',
    problem: odd && JSON.stringify(odd),
  }
}

function stopped(rounds) {
  const last = rounds.at(-1)
  const isStopped = last.every(({ code }) => code === 'insufficient_quota')
  return {
    claim: 'runaway agent: its budget stopped it, all 64 of the last round',
    problem: isStopped ? undefined : `${refusalsOf(last) || 'nothing'} in round ${rounds.length}`,
  }
}

function unharmed(others) {
  const refused = others.find((call) => !isAnswered(call))
  return {
    claim: 'runaway agent: another tenant was answered all the while',
    problem: refused && `status ${refused.status}, ${refused.code}`,
  }
}

/** A reader that goes away in the middle of an answer. */
async function leaving(leaver) {
  const { words, reserved } = await leaver.leaveAfter(20)
  const after = await leaver.settled()
  const charged = after['budget.daily'].used
  // A word is a token at least.
  const produced = priceOf({ prompt_tokens: 0, completion_tokens: words.length })
  const isRight = after['in-flight'].used === 0 && charged >= produced && charged < reserved
  return {
    claim: 'an answer that is broken off is charged for what was said of it, and its slot is free',
    problem: isRight
      ? undefined
      : `${charged} of ${reserved} charged for at least ${produced}, ` +
        `${after['in-flight'].used} in flight`,
  }
}
