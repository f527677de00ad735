import type { CallToSend } from '@sluice/ai'
import { callModel } from './call-model'
import type { ChatRequest } from './chat-request'

/** The answer of the stand-in. */
const SAMPLE =
  'A budget that is checked before a call and charged after it is no budget: whatever runs at the ' +
  'same time has passed the check before anything is charged. So the most that a call may cost is ' +
  'taken out first. The model answers, and each piece of the answer is counted while it passes. ' +
  'When the answer has come to its end, or the reader has gone away, what was not used is given ' +
  'back. You can see it while you read this: the dollars that are left went down by more than this ' +
  'answer costs, and they come back a little with its last word.'

/** Sends a chat completion to the model. */
export function answerChat({ body, signal }: CallToSend): Promise<Response> {
  return callModel(JSON.parse(body) as ChatRequest, SAMPLE, signal)
}
