import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { after } from 'next/server'
import { tenantFromJwt } from '../../../lib/auth/jwt'
import { getChatLimiter } from '../../../lib/limits/chat'
import { callModel } from '../../../lib/model/call-model'
import type { ChatRequest } from '../../../lib/model/chat-request'

/** The answer of the stand-in. */
const SAMPLE =
  'A budget that is checked before a call and charged after it is no budget: whatever runs at the ' +
  'same time has passed the check before anything is charged. So the most that a call may cost is ' +
  'taken out first. The model answers, and each piece of the answer is counted while it passes. ' +
  'When the answer has come to its end, or the reader has gone away, what was not used is given ' +
  'back. You can see it while you read this: the dollars that are left went down by more than this ' +
  'answer costs, and they come back a little with its last word.'

const options = {
  subject: tenantFromJwt,
  api: 'openai-chat',
  prices: LIST_PRICES,
  maxOutput: 400,
  maxBodyBytes: 200_000,
  // The stand-in hides no reasoning, and the demo shows how the count goes up.
  onIncomplete: 'counted',
  waitUntil: after,
} as const

/** Answers chat completions like OpenAI's API, on a budget of tokens, dollars and calls in flight. */
export const POST = modelHandler(getChatLimiter, options, ({ body, signal }) =>
  callModel(JSON.parse(body) as ChatRequest, SAMPLE, signal),
)
