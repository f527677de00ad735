import { limitedFetch } from '@sluice/ai'
import { cohere, gemini } from '@sluice/ai/formats'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CHATS, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES } from './addresses.ts'
import { chargedBy, DOORS, judge, PRICES, roomyLimiter, TERMS, verdict } from './doors.ts'
import { TABLES } from './fields/tables.ts'
import { createProvider } from './provider.ts'

afterEach(() => vi.unstubAllGlobals())

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Addresses of calls that have prices, in spellings that a server takes for the same. */
const PRICED = words(`
  api.openai.com/v1/chat/completions            api.openai.com/v1/chat/completions/
  api.openai.com/v1/chat/completions?a=b        api.openai.com/V1/Chat/Completions
  api.openai.com/v1/./chat/completions          api.openai.com/v1/files/../chat/completions
  api.openai.com/v1//chat/completions           api.openai.com/v1/chat/completions#a
  api.deepseek.com/chat/completions             api.groq.com/openai/v1/chat/completions
  api.mistral.ai/v1/chat/completions            acme.openai.azure.com/openai/deployments/a/chat/completions
  openrouter.ai/api/v1/chat/completions         api.cohere.ai/compatibility/v1/chat/completions
`)

/** Addresses of what costs money and has no price, or changes something. */
const UNPRICED = words(`
  api.openai.com/v1/responses/compact           api.openai.com/v1/responses/resp_1/cancel
  api.openai.com/v1/responses/input_tokens      api.openai.com/v1/chat/completions/chatcmpl_1
  api.openai.com/v1/batches                     api.openai.com/v1/files
  api.openai.com/v1/uploads                     api.openai.com/v1/images/generations
  api.openai.com/v1/images/edits                api.openai.com/v1/images/variations
  api.openai.com/v1/audio/speech                api.openai.com/v1/audio/transcriptions
  api.openai.com/v1/audio/translations          api.openai.com/v1/videos
  api.openai.com/v1/videos/video_1/remix        api.openai.com/v1/assistants
  api.openai.com/v1/threads                     api.openai.com/v1/threads/runs
  api.openai.com/v1/threads/thread_1/messages   api.openai.com/v1/threads/thread_1/runs
  api.openai.com/v1/conversations               api.openai.com/v1/conversations/conv_1/items
  api.openai.com/v1/vector_stores               api.openai.com/v1/vector_stores/vs_1/search
  api.openai.com/v1/containers                  api.openai.com/v1/evals
  api.openai.com/v1/fine_tuning/jobs            api.openai.com/v1/realtime/sessions
  api.openai.com/v1/realtime/client_secrets     api.openai.com/v1/chatkit/sessions
  api.openai.com/v1/organization/admin_api_keys api.openai.com/v1/chat%2Fcompletions
  api.openai.com/v1/chat/complet%69ons          api.openai.com/v1/chat/completions;x=1
  api.openai.com/v1/chat/completions.json       api.openai.com/v1/chat/completions%20
  api.openai.com/v1/chat/completions/extra      api.openai.com/v1/chat/completions%00
  api.openai.com/v1/chat/completions%2F         api.openai.com/v1/engines/davinci/search
  api.anthropic.com/v1/complete                 api.anthropic.com/v1/messages/batches
  api.anthropic.com/v1/files                    api.anthropic.com/v1/skills
  api.anthropic.com/v1/organizations/invites    api.anthropic.com/v1/messages%2F
  generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent
  generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse
  generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:batchGenerateContent
  generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:embedContent
  generativelanguage.googleapis.com/v1beta/models/imagen-4:predict
  generativelanguage.googleapis.com/v1beta/models/veo-3:predictLongRunning
  generativelanguage.googleapis.com/v1beta/interactions
  generativelanguage.googleapis.com/v1beta/cachedContents
  generativelanguage.googleapis.com/upload/v1beta/files
  us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent
  us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6:rawPredict
  api.cohere.com/v2/chat                        api.cohere.com/v1/chat
  api.cohere.com/v2/embed                       api.cohere.com/v2/rerank
  api.cohere.com/v1/generate                    api.mistral.ai/v1/agents
  api.mistral.ai/v1/conversations               api.mistral.ai/v1/ocr
  api.mistral.ai/v1/audio/transcriptions        api.mistral.ai/v1/batch/jobs
  api.groq.com/openai/v1/audio/speech           api.groq.com/openai/v1/batches
  api.x.ai/v1/images/generations                api.x.ai/v1/deferred-completion/1
  api.perplexity.ai/search                      api.perplexity.ai/async/chat/completions/1
  openrouter.ai/api/v1/credits/coinbase         openrouter.ai/api/v1/keys
  bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-4-6/invoke
  bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-4-6/converse
  bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-4-6/converse-stream
  api.cloudflare.com/client/v4/accounts/a/ai/run/@cf/meta/llama-3.1-8b-instruct
  gateway.ai.cloudflare.com/v1/acme/main        gateway.ai.cloudflare.com/v1/acme/main/workers-ai/@cf/meta/llama
  acme.snowflakecomputing.com/api/v2/cortex/inference:complete
  api.replicate.com/v1/predictions              api.together.xyz/v1/images/generations
  api.fireworks.ai/inference/v1/workflows/a     api.voyageai.com/v1/rerank
  ollama.example/api/chat                       ollama.example/api/generate
  ollama.example/api/embed                      ollama.example/api/pull
  api.elevenlabs.io/v1/text-to-speech/v         app.example/
  app.example/oauth/token                       app.example/graphql
`)

/** The paths that vendors call free. */
const FREE = words('api.anthropic.com/v1/messages/count_tokens api.openai.com/v1/moderations')

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'post', 'QUERY', 'PROPFIND'] as const
const QUESTION = JSON.stringify({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
})

/** Sends a request by `limitedFetch`, and returns the answer's status and what became of it. */
async function outcomeOf(address: string, method: string, body: string | null, more: object = {}) {
  const provider = createProvider()
  const limiter = roomyLimiter()
  const background: Promise<unknown>[] = []
  const send = limitedFetch(limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    fetch: provider.fetch,
    waitUntil: (promise) => void background.push(promise),
    ...more,
  })
  const answer = await send(`https://${address}`, { method, body })
  await answer.text()
  while (background.length > 0) await background.shift()
  const became = verdict(answer.status, provider, await chargedBy(limiter), true)
  return [answer.status, provider.requests.length, became] as const
}

describe('limitedFetch', () => {
  it.each(PRICED)('charges what is billed at %s', async (address) => {
    expect(await outcomeOf(address, 'POST', QUESTION)).toEqual([200, 1, 'sent'])
  })

  it.each(UNPRICED)(
    'refuses to send to %s, whatever the method, also with formats',
    async (address) => {
      for (const method of METHODS) {
        for (const formats of [[], [gemini, cohere]]) {
          const [status, requests] = await outcomeOf(address, method, QUESTION, { formats })
          expect([method, status, requests]).toEqual([method, 403, 0])
        }
      }
    },
  )

  it.each([...PRICED, ...UNPRICED])('reads from %s without a charge', async (address) => {
    for (const method of ['GET', 'HEAD']) {
      const [status, requests, became] = await outcomeOf(address, method, null)
      expect([status, requests, became]).toEqual([200, 1, 'sent'])
    }
  })

  it.each(FREE)('sends what is free to %s', async (address) => {
    expect(await outcomeOf(address, 'POST', QUESTION)).toEqual([200, 1, 'sent'])
    expect(await outcomeOf(`proxy.example${address}`, 'PUT', QUESTION)).toEqual([
      403,
      0,
      expect.any(String),
    ])
  })
})

const ADDRESSES = [CHATS, RESPONSES, COMPLETIONS, EMBEDDINGS, MESSAGES].flatMap((list) =>
  list.slice(0, 1),
)
const CELLS = Object.keys(DOORS).flatMap((door) => ADDRESSES.map((address) => ({ door, address })))

describe.each(CELLS)('through $door, at $address.url', ({ door, address }) => {
  it.each(Object.entries(TABLES))(
    'a body of %s is charged what is billed, or refused',
    async (api, { question }) => {
      for (const [name, terms] of Object.entries(TERMS)) {
        const body = JSON.stringify({ model: address.model, ...question })
        const became = await judge(DOORS[door] as never, address, body, terms)
        // Of embeddings and responses a text is the input alike.
        const fits =
          api === address.api ||
          (/embed|responses/.test(api) && /embed|responses/.test(address.api))
        const allowed = fits ? ['sent'] : ['sent', 'refused']
        expect([name, allowed]).toEqual([name, expect.arrayContaining([became])])
      }
    },
  )
})
