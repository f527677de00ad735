import type { StoreRequest } from '../stores/store.ts'
import type { Kinds } from './kinds.ts'
import type { Answer } from './place-states.ts'
import { Tries, type ChoiceRequest } from '../stores/choices/tries.ts'
import { decisionOf, type DecisionData } from './message.ts'

/** Makes the first of the alternatives of a message that fits, in a place that awaits nothing meanwhile. */
export function chooseHere(
  request: StoreRequest,
  kinds: Kinds,
  decide: (one: StoreRequest) => Answer,
): Answer {
  const { alternatives } = request as ChoiceRequest
  const all = (alternatives.all as readonly unknown[]).map((one) =>
    decisionOf(one as DecisionData, kinds),
  )
  const tries = new Tries({ ...request, alternatives: { ...alternatives, all } })
  for (let one = tries.next(); one; one = tries.next()) {
    const answer = decide(one)
    if (!('reply' in answer)) return answer
    tries.add(answer.reply)
  }
  return { reply: tries.reply() }
}
