import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { limitedModel, LIST_PRICES, ModelCallDenied } from '@sluice/ai'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'
import { tenantFromJwt } from '../../../auth'
import { limiter } from '../../../limits'

const openai = createOpenAICompatible({
  name: 'openai',
  baseURL: process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  includeUsage: true,
})

const textOf = (error: unknown): string =>
  error instanceof ModelCallDenied ? `Denied: ${error.decision.reason}.` : 'Something went wrong.'

export async function POST(request: Request): Promise<Response> {
  const subject = await tenantFromJwt(request)
  if (!subject || !('tenant' in subject)) return new Response(null, { status: 401 })
  const { messages } = (await request.json()) as { messages: UIMessage[] }
  const result = streamText({
    model: limitedModel(openai('gpt-6.2-sol'), limiter, {
      subject,
      prices: LIST_PRICES,
      maxOutput: 16_384, // with thinking; an answer that is under way holds its cost
    }),
    messages: await convertToModelMessages(messages),
    maxRetries: 0,
  })
  return result.toUIMessageStreamResponse({ onError: textOf })
}
