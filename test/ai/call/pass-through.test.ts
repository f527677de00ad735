import Anthropic from '@anthropic-ai/sdk'
import { createOpenAI } from '@ai-sdk/openai'
import {
  limitedFetch,
  type FetchLike,
  type LimitedFetchOptions,
  type PassThrough,
} from '@sluice/ai'
import * as formats from '@sluice/ai/formats'
import { embedMany, generateSpeech, generateImage } from 'ai'
import OpenAI, { toFile } from 'openai'
import { describe, expect, it, vi, type Mock } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf, PRICES, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

/** Requests that cost money, or may: none of them is a model call that has a price. */
const UNPRICED: Readonly<Record<string, string>> = {
  Gemini:
    'POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
  'Gemini, streamed':
    'POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  'Gemini, interactions': 'POST https://generativelanguage.googleapis.com/v1beta/interactions',
  'Vertex AI':
    'POST https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-5:rawPredict',
  'Cohere, chat': 'POST https://api.cohere.com/v2/chat',
  'Cohere, embed': 'POST https://api.cohere.com/v2/embed',
  'Cohere, rerank': 'POST https://api.cohere.com/v2/rerank',
  'Ollama, chat': 'POST http://127.0.0.1:11434/api/chat',
  'Ollama, generate': 'POST http://127.0.0.1:11434/api/generate',
  'Bedrock, Converse':
    'POST https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/converse',
  'Bedrock, InvokeModel':
    'POST https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/invoke',
  'Workers AI': 'POST https://api.cloudflare.com/client/v4/accounts/a/ai/run/@cf/meta/llama',
  'the gateway of the AI SDK': 'POST https://ai-gateway.vercel.sh/v3/ai/language-model',
  'a batch of OpenAI': 'POST https://api.openai.com/v1/batches',
  'a batch of Anthropic': 'POST https://api.anthropic.com/v1/messages/batches',
  'an image': 'POST https://api.openai.com/v1/images/generations',
  'an image edited': 'POST https://api.openai.com/v1/images/edits',
  speech: 'POST https://api.openai.com/v1/audio/speech',
  'a transcription': 'POST https://api.openai.com/v1/audio/transcriptions',
  'a video': 'POST https://api.openai.com/v1/videos',
  'a compaction': 'POST https://api.openai.com/v1/responses/compact',
  'a message in a thread': 'POST https://api.openai.com/v1/threads/thread_1/messages',
  'a run of a thread': 'POST https://api.openai.com/v1/threads/thread_1/runs',
  'a session in real time': 'POST https://api.openai.com/v1/realtime/sessions',
  'fine-tuning': 'POST https://api.openai.com/v1/fine_tuning/jobs',
  'a vector store': 'POST https://api.openai.com/v1/vector_stores',
  'an upload': 'POST https://api.openai.com/v1/files',
  'a part of an upload': 'PUT https://api.openai.com/v1/uploads/u/parts',
  'a change': 'PATCH https://api.openai.com/v1/anything',
  'a deletion': 'DELETE https://api.openai.com/v1/files/file_1',
  'a token endpoint': 'POST https://auth.example/oauth/token',
  'moderation that is billed': 'POST https://api.mistral.ai/v1/moderations',
  'a model call with an encoded path': 'POST https://api.openai.com/v1/chat%2Fcompletions',
  'a model call with a parameter': 'POST https://api.openai.com/v1/chat/completions;a=1',
  'a model call by another method': 'PUT https://api.openai.com/v1/chat/completions',
  'a method that nobody knows': 'QUERY https://api.openai.com/v1/chat/completions',
}

const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Why?' }] })

function limited(options: Partial<LimitedFetchOptions> = {}) {
  const limiter = limiterOf()
  const send = vi.fn<FetchLike>(async () => Response.json(recorded.CHAT_JSON))
  const terms = { subject, prices: PRICES, fetch: send, ...options }
  const door = limitedFetch(limiter, terms)
  /** Sends what a line such as `POST https://…` says. */
  const ask = (line: string, init: RequestInit = {}): Promise<Response> => {
    const [method = '', url = ''] = line.split(' ')
    return door(url, { method, ...(/GET|HEAD/.test(method) ? {} : { body }), ...init })
  }
  return { limiter, send, door, ask }
}

describe('a limited fetch refuses what has no price:', () => {
  it.each(Object.entries(UNPRICED))('%s', async (_, line) => {
    for (const options of [{}, { formats: Object.values(formats) }]) {
      const { limiter, send, ask } = limited(options)
      const answer = await ask(line)
      expect(answer.status).toBe(403)
      const { error } = (await answer.json()) as { error: { message: string; code: string } }
      expect(error).toMatchObject({ code: 'unpriced_request' })
      expect(error.message).toContain('passThrough')
      expect(send).not.toHaveBeenCalled()
      expect(await used(limiter, 'rpm')).toBe(0)
    }
  })

  it('a WebSocket, which providers offer by GET', async () => {
    const { send, ask } = limited()
    const headers = { Upgrade: 'websocket' }
    const answer = await ask('GET https://api.openai.com/v1/realtime?model=gpt-realtime', {
      headers,
    })
    expect(answer.status).toBe(403)
    expect(send).not.toHaveBeenCalled()
  })
})

describe('a limited fetch charges a model call however its path is written:', () => {
  it.each([
    '/V1/CHAT/COMPLETIONS',
    '/v1/chat/completions/',
    '//v1//chat/completions',
    '/v1/./chat/x/../completions',
    '/openai/deployments/d/Chat/Completions?api-version=1',
  ])('%s', async (path) => {
    const { limiter, send, ask } = limited()
    await (await ask(`post https://provider.example${path}`)).text()
    expect(send).toHaveBeenCalledOnce()
    expect(await used(limiter, 'rpm')).toBe(1)
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(1_204 + 3_100)
  })

  it('a pattern that names it changes nothing', async () => {
    const { limiter, ask } = limited({ passThrough: ['/*'] })
    await (await ask('POST https://api.openai.com/v1/chat/completions')).text()
    expect(await used(limiter, 'rpm')).toBe(1)
  })
})

describe('a limited fetch passes unchanged', () => {
  it.each([
    'GET https://api.openai.com/v1/models',
    'HEAD https://api.openai.com/v1/models',
    'GET https://api.openai.com/v1/responses/resp_1?stream=true',
    'POST https://api.openai.com/v1/moderations',
    'POST https://api.anthropic.com/v1/messages/count_tokens?beta=true',
  ])('what costs nothing: %s', async (line) => {
    const { limiter, send, ask } = limited()
    expect((await ask(line)).status).toBe(200)
    expect(send).toHaveBeenCalledOnce()
    expect(await used(limiter, 'rpm')).toBe(0)
  })

  it.each(Object.entries(UNPRICED))('what is named: %s', async (_, line) => {
    const [method = '', url = ''] = line.split(' ')
    const named = `${method} ${new URL(url).pathname}`
    const { limiter, send, ask } = limited({ passThrough: [named] })
    expect((await ask(line)).status).toBe(200)
    expect(send).toHaveBeenCalledExactlyOnceWith(url, { method, body })
    expect(await used(limiter, 'rpm')).toBe(0)
  })

  it.each<[PassThrough, string, number]>([
    [['/oauth/token'], 'POST /oauth/token', 200],
    [['/oauth/token'], 'DELETE /oauth/token', 200],
    [['/oauth/token'], 'POST /oauth/token/x', 403],
    [['/oauth/token'], 'POST /OAuth/Token', 403],
    [['POST /v1/files'], 'PUT /v1/files', 403],
    [['POST /v1/files'], 'POST /v1/files?purpose=x', 200],
    [['POST /v1/files'], 'POST /x/v1/files', 403],
    [['POST /v1/f.les'], 'POST /v1/files', 403],
    [['/v1/files/*'], 'DELETE /v1/files/f', 200],
    [['/v1/files/*'], 'DELETE /v1/files/f/content', 200],
    [['/v1/files/*'], 'POST /v1/files', 403],
    [['/v1/files/*'], 'POST /v1/filesystem/x', 403],
    [['/v1/*/cancel'], 'POST /v1/x/cancel', 200],
    [[], 'POST /v1/files', 403],
    [({ method, url }) => method === 'POST' && url.host === 'api.example', 'POST /v1/files', 200],
    [({ method }) => method === 'POST', 'DELETE /v1/files', 403],
    [async ({ url }) => url.pathname.startsWith('/v1/files'), 'POST /v1/files', 200],
    [async () => false, 'POST /v1/files', 403],
    [(() => 'yes') as never, 'POST /v1/files', 403],
  ])('passThrough %j, %s: %d', async (passThrough, line, status) => {
    const { ask } = limited({ passThrough })
    const [method = '', path = ''] = line.split(' ')
    expect((await ask(`${method} https://api.example${path}`)).status).toBe(status)
  })
})

/** The official clients, whose requests all go through one limited fetch. */
function clientsOf(options: Partial<LimitedFetchOptions> = {}) {
  const { door, send } = limited(options)
  const asked = vi.fn<FetchLike>(door)
  return {
    asked,
    send,
    openai: new OpenAI({ apiKey: 'k', fetch: asked }),
    anthropic: new Anthropic({ apiKey: 'k', fetch: asked }),
    sdk: createOpenAI({ apiKey: 'k', fetch: asked }),
  }
}
type Clients = ReturnType<typeof clientsOf>

/** The addresses that were asked, without the one by which the openai client learns what its `fetch` returns. */
const requestsTo = ({ mock }: Mock<FetchLike>): string[] =>
  mock.calls
    .map(([input]) => (input instanceof Request ? input.url : String(input)))
    .filter((url) => url !== 'data:,')

const messages = [{ role: 'user' as const, content: 'Why?' }]

const CALLS: Readonly<Record<string, (clients: Clients) => Promise<unknown>>> = {
  'openai, an image': ({ openai }) => openai.images.generate({ prompt: 'a sky', model: 'x' }),
  'openai, speech': ({ openai }) =>
    openai.audio.speech.create({ model: 'tts-1', input: 'x', voice: 'alloy' }),
  'openai, a transcription': async ({ openai }) =>
    openai.audio.transcriptions.create({
      model: 'whisper-1',
      file: await toFile(new Uint8Array(1), 'a.wav'),
    }),
  'openai, an upload': async ({ openai }) =>
    openai.files.create({ purpose: 'batch', file: await toFile(new Uint8Array(1), 'a.jsonl') }),
  'openai, a batch': ({ openai }) =>
    openai.batches.create({
      completion_window: '24h',
      endpoint: '/v1/chat/completions',
      input_file_id: 'file_1',
    }),
  'openai, a deletion': ({ openai }) => openai.files.delete('file_1'),
  'Anthropic, a batch': ({ anthropic }) => anthropic.messages.batches.create({ requests: [] }),
  'AI SDK, an image': ({ sdk }) => generateImage({ model: sdk.image('gpt-image-1'), prompt: 'x' }),
  'AI SDK, speech': ({ sdk }) => generateSpeech({ model: sdk.speech('tts-1'), text: 'x' }),
}

describe('a refusal reaches the users of official clients with its remedy, after one request:', () => {
  it.each(Object.entries(CALLS))('%s', async (_, call) => {
    const clients = clientsOf()
    const error: unknown = await call(clients).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /name its method and path in the option passThrough/,
      ) as string,
    })
    const { status, statusCode = status } = error as { status?: number; statusCode?: number }
    expect(statusCode).toBe(403)
    expect(requestsTo(clients.asked)).toHaveLength(1)
    expect(requestsTo(clients.send)).toEqual([])
  })

  it('what is free still works', async () => {
    const { openai, anthropic, send } = clientsOf()
    await openai.models.list()
    await openai.moderations.create({ input: 'x' })
    await anthropic.messages.countTokens({ model: 'claude-opus-4-5', messages })
    await anthropic.models.list()
    expect(send).toHaveBeenCalledTimes(4)
  })

  it('an upload that is named passes, and a model call is charged', async () => {
    const { openai, sdk, send, asked } = clientsOf({ passThrough: ['POST /v1/files'] })
    await openai.files.create({
      purpose: 'batch',
      file: await toFile(new Uint8Array(1), 'a.jsonl'),
    })
    await openai.chat.completions.create({ model: 'gpt-4o', messages })
    await expect(embedMany({ model: sdk.embedding('gpt-4o'), values: ['x'] })).rejects.toThrow(
      'Invalid JSON',
    )
    expect(requestsTo(asked)).toHaveLength(3)
    expect(requestsTo(send)).toHaveLength(3)
  })
})

describe('a mistake in passThrough is an error that names it:', () => {
  const make = loosely((options: { passThrough: PassThrough }) =>
    limitedFetch(limiterOf(), { subject: subject(), prices: PRICES, ...options }),
  )
  mistakesAreNamed([
    [
      'a path instead of a list',
      () => make({ passThrough: '/v1/files' }),
      'limitedFetch.passThrough',
    ],
    ['true', () => make({ passThrough: true }), 'limitedFetch.passThrough'],
    [
      'a path without a slash',
      () => make({ passThrough: ['v1/files'] }),
      'limitedFetch.passThrough[0]',
    ],
    [
      'an address',
      () => make({ passThrough: ['/a', 'https://x.example/a'] }),
      'limitedFetch.passThrough[1]',
    ],
    [
      'a method in lower case',
      () => make({ passThrough: ['post /a'] }),
      'limitedFetch.passThrough[0]',
    ],
    ['no text', () => make({ passThrough: [/a/] }), 'limitedFetch.passThrough[0]'],
  ])
})
