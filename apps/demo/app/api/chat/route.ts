import { InputError } from '@sluice/core'
import { rateLimitHeaders, tooManyRequests, withHeaders } from '@sluice/core/http'
import { estimateRequest, LIST_PRICES, meter, priceOf, type Priced } from '@sluice/ai'
import { reserve } from '@sluice/core/reservations'
import { after } from 'next/server'
import { tenantFromJwt, type Tenant } from '../../../lib/auth/jwt'
import { getChatLimiter } from '../../../lib/limits/chat'
import { openAiError, readChat, type ChatRequest } from '../../../lib/model/chat-request'
import { callModel } from '../../../lib/model/call-model'

/** Answers chat completions like OpenAI's API, on a budget of tokens, dollars and calls in flight. */
export async function POST(request: Request): Promise<Response> {
  const tenant = await tenantFromJwt(request)
  if (tenant === null) return openAiError(401, 'invalid_api_key', 'This route needs credentials.')
  const body = await readChat(request)
  if (body instanceof Response) return body
  try {
    return await chat(tenant, body, request.signal)
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    // Mostly a model without a price. A call that cannot be counted does not reach the model.
    const isUnknown = error.code === 'unknown_model'
    const message = isUnknown ? 'This model is not offered.' : 'This request cannot be counted.'
    return openAiError(400, error.code, message)
  }
}

async function chat(tenant: Tenant, body: ChatRequest, signal: AbortSignal): Promise<Response> {
  const { input, output } = estimateRequest(body)
  const price = (tokens: Priced): number => priceOf(tokens, body.model, LIST_PRICES)

  // Before the call: reserve its maximum, all or nothing. The units `request` and `call` cost 1 each.
  const decision = await reserve(getChatLimiter(), tenant, {
    cost: { token: input + output, usd: price({ input, output }) },
  })
  if (!decision.allowed) return tooManyRequests(decision, { format: 'openai' })

  const answer = await callModel(body, SAMPLE, signal).catch(() => undefined)
  if (!answer?.ok) {
    // An error of the model costs nothing. Without any answer (the model was not reached, or the client
    // is gone) the model may have written all of one, and the estimate stays charged.
    after(answer ? decision.cancel() : decision.settle({}))
    return answer ?? openAiError(502, 'upstream_unavailable', 'The model cannot be reached.')
  }

  // After the call: settle what it really used, at the end of the answer or where it breaks off.
  const metered = meter(answer, {
    model: body.model,
    inputTokens: input,
    waitUntil: after,
    settle: async (usage) => {
      await decision.settle({ token: usage.input + usage.output, usd: price(usage) })
    },
  })
  return withHeaders(metered, rateLimitHeaders(decision))
}

/** The answer of the stand-in. */
const SAMPLE =
  'A budget that is checked before a call and charged after it is no budget: whatever runs at the ' +
  'same time has passed the check before anything is charged. So the most that a call may cost is ' +
  'taken out first. The model answers, and each piece of the answer is counted while it passes. ' +
  'When the answer has come to its end, or the reader has gone away, what was not used is given ' +
  'back. You can see it while you read this: the dollars that are left went down by more than this ' +
  'answer costs, and they come back a little with its last word.'
