import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { after } from 'next/server'
import { tenantFromJwt } from '../../../lib/auth/jwt'
import { chatLimiter } from '../../../lib/limits/chat'
import { answerChat } from '../../../lib/model/answer-chat'

const options = {
  subject: tenantFromJwt,
  api: 'openai-chat',
  prices: LIST_PRICES,
  maxOutput: 400,
  maxBodyBytes: 200_000,
  onIncomplete: 'counted', // the stand-in hides no reasoning, and the demo shows the count go up
  waitUntil: after,
} as const

/** Answers chat completions like OpenAI's API, on a budget of tokens, dollars and calls in flight. */
export const POST = modelHandler(chatLimiter, options, answerChat)
