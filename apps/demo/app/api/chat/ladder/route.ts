import { LIST_PRICES, meter, prepareModelCalls } from '@sluice/ai'
import { choices } from '@sluice/core/choices'
import { tooManyRequests } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { after } from 'next/server'
import { tenantFromJwt } from '../../../../lib/auth/jwt'
import { readJson } from '../../../../lib/http/read-json'
import { chatLimiter } from '../../../../lib/limits/chat'
import { answerChat } from '../../../../lib/model/answer-chat'

/** The models in the order of preference. Each is cheaper than the one before. */
const MODELS = ['gpt-6.2-sol', 'gpt-6.1-terra', 'gpt-6-luna']

const MAX_BODY_BYTES = 200_000

const prepare = prepareModelCalls({ api: 'openai-chat', prices: LIST_PRICES, maxOutput: 400 })

/** Answers as `/api/chat` does, on the same budgets, by the first model that all of them have room for. */
export async function POST(request: Request): Promise<Response> {
  const subject = await tenantFromJwt(request)
  if (subject === null) return Response.json({ error: 'unauthenticated' }, { status: 401 })
  const sent = await readJson(request, MAX_BODY_BYTES)
  if (!('value' in sent)) return Response.json({ error: 'invalid_body' }, sent)
  const calls = await Promise.all(
    MODELS.map((model) => {
      const body = JSON.stringify({ ...(sent.value as object), model })
      return prepare(new Request(request.url, { method: 'POST', body }))
    }),
  )
  const ready = calls.filter((call) => call.refusal === undefined)
  const refused = calls.find((call) => call.refusal !== undefined)
  if (refused) return refused.refusal

  const list = ready.map(({ model, cost: { token, usd } }) => ({
    subject: { model },
    cost: { token, usd },
  }))
  const decision = await reserve(chatLimiter, subject, { choices: choices(list), waitUntil: after })
  if (!decision.allowed) return tooManyRequests(decision, { format: 'openai' })
  const call = ready[decision.choice]
  if (!call) throw new Error(`There is no choice ${decision.choice}`)
  const answer = await answerChat({ body: call.body, signal: request.signal })
  return meter(answer, {
    inputTokens: call.inputTokens,
    settle(usage) {
      const { token, usd } = call.unitsOf(usage)
      return decision.settle({ token, usd })
    },
    waitUntil: after,
  })
}
