import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { fallback } from '@sluice/ai/fallback'
import { after } from 'next/server'
import { tenantFromJwt } from '../../../../lib/auth/jwt'
import { chatLimiter } from '../../../../lib/limits/chat'
import { answerChat } from '../../../../lib/model/answer-chat'

const options = {
  subject: tenantFromJwt,
  api: 'openai-chat',
  prices: LIST_PRICES,
  maxOutput: 400,
  maxBodyBytes: 200_000,
  onIncomplete: 'counted',
  waitUntil: after,
  fallbackModels: fallback(['gpt-6.1-terra', 'gpt-6-luna']),
} as const

/** Answers as `/api/chat` does, on the same budgets, by the first of three models that all of them have room for. */
export const POST = modelHandler(chatLimiter, options, answerChat)
