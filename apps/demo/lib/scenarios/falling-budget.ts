import type { Outcome, Scenario, Traffic } from './scenario'

const CALLS = 42
const WORKERS = 3

/** A budget that falls through three models while each call is answered, beside one that refuses. */
export const fallingBudget: Scenario = {
  id: 'falling-budget',
  title: 'Falling budget',
  story:
    'starter-1 and starter-2 make 42 calls each, on $0.05 a day. Those of starter-1 may fall from gpt-6.2-sol to gpt-6.1-terra and gpt-6-luna: one decision takes the first that its budget has room for, so each call is answered. starter-2 asks for gpt-6.2-sol alone, and is refused once the budget has no room for it.',
  tenants: ['starter-1', 'starter-2'],
  async run(traffic) {
    const { ladder, chat, conclude } = traffic
    const [falling, refusing] = await Promise.all([
      answersOf(traffic, (call) => ladder('starter-1', call)),
      answersOf(traffic, (call) => chat('starter-2', call)),
    ])
    const models = Array.from(falling, ([model, count]) => `${count} by ${model}`).join(', ')
    conclude(
      `starter-1: ${sum(falling)} of ${CALLS} calls answered, ${models}. starter-2, with one model: ${sum(refusing)} of ${CALLS}.`,
    )
  },
}

/** Makes all calls of a tenant. Resolves to the answers by model, the first that has answered first. */
async function answersOf(
  { each, pause }: Traffic,
  send: (call: string) => Promise<Outcome>,
): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>()
  await each(CALLS, WORKERS, async (index) => {
    let outcome = await send(`call-${index}`)
    // As official clients do: calls in flight hold the rest of the budget, and give back what they do not use.
    while (outcome.code === 'concurrency_exceeded') {
      await pause(300)
      outcome = await send(`call-${index}`)
    }
    const { status, model = 'no model' } = outcome
    if (status === 200) answers.set(model, (answers.get(model) ?? 0) + 1)
  })
  return answers
}

const sum = (answers: ReadonlyMap<string, number>): number =>
  [...answers.values()].reduce((all, count) => all + count, 0)
