import { setTimeout as delay } from 'node:timers/promises'
import { isAllowed } from './checks.mjs'
import { clientOf } from './client.mjs'

const ROUNDS = 14
const CALLS_PER_ROUND = 3
const CALLS = ROUNDS * CALLS_PER_ROUND

/** The dollars of a million tokens of input and output, the dearest model first. */
const PRICES = { 'gpt-6.2-sol': [2, 10], 'gpt-6.1-terra': [1, 5], 'gpt-6-luna': [0.1, 0.5] }
const MODELS = Object.keys(PRICES)

/** Returns the price of a call in micro-dollars. */
const priceOf = ({ model, usage }) =>
  Math.ceil(usage.prompt_tokens * PRICES[model][0] + usage.completion_tokens * PRICES[model][1])

/**
 * Makes the calls of a tenant that may fall through three models, and those of another that asks for the first alone, on
 * equal budgets. Resolves to the checks, as `checkScenario` does, and a summary.
 */
export async function fallingBudget(stack) {
  console.log(`falling budget: ${CALLS} calls on $0.05 a day by three models, and by one alone`)
  const [falling, refusing] = ['falling', 'refusing'].map((name) =>
    clientOf(stack, name, 'starter'),
  )
  const [fell, alone] = await Promise.all([
    callsOf(falling, () => falling.ladder({})),
    callsOf(refusing, () => refusing.chat({})),
  ])
  const { limit, used } = await falling.settled()
  const checks = []
  const check = (claim, holds, found) =>
    checks.push({ claim: `falling budget: ${claim}`, problem: holds ? undefined : found })
  const refused = fell.find((call) => !isAllowed(call))
  check(`all ${CALLS} calls are answered`, !refused, JSON.stringify(refused))
  const answers = fell.filter(isAllowed)
  const byModel = MODELS.map((model) => answers.filter((call) => call.model === model).length)
  const models = `${answers[0]?.model} first, ${answers.at(-1)?.model} last, ${byModel.join()} by model`
  const isFall = answers[0]?.model === MODELS[0] && answers.at(-1)?.model === MODELS[2]
  check('by the dearest model first, the cheapest last', isFall && !byModel.includes(0), models)
  const spent = answers.reduce((sum, call) => sum + priceOf(call), 0)
  const both = `${spent} and ${used} of ${limit} micro-dollars`
  check('its budget lost exactly what they cost', spent === used && used <= limit, both)
  const others = alone.filter((call) => !isAllowed(call))
  const codes = [...new Set(others.map(({ error }) => error?.code ?? error))]
  const isRefused = others.length > 0 && codes.join() === 'insufficient_quota'
  check('the tenant with one model is refused for its budget', isRefused, codes.join() || 'never')
  const counts = MODELS.map((model, index) => `${byModel[index]} by ${model}`).join(', ')
  const summary =
    `The falling budget answered ${answers.length} of ${CALLS} calls, ${counts}; ` +
    `the one with ${MODELS[0]} alone ${CALLS - others.length}.`
  return { checks, summary }
}

/** Makes all calls, some at once. Each round begins when the one before is settled. */
async function callsOf(client, send) {
  const calls = []
  for (let round = 0; round < ROUNDS; round += 1) {
    calls.push(...(await Promise.all(Array.from({ length: CALLS_PER_ROUND }, () => ask(send)))))
    await client.settled()
  }
  return calls
}

/** Sends a call again while calls in flight hold the rest of its budget, as official clients do. */
async function ask(send) {
  for (;;) {
    const call = await send()
    if (call.error?.code !== 'concurrency_exceeded') return call
    await delay(100)
  }
}
