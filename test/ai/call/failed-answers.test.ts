import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { limitedModel, type AiSdkModel } from '@sluice/ai'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { describe, expect, it, vi } from 'vitest'
import { limiterOf, PRICES, sse, used } from '../doors.ts'

const VERSIONS = {
  'ai 5': { openai: createOpenAI5, anthropic: createAnthropic5 },
  'ai 6': { openai: createOpenAI6, anthropic: createAnthropic6 },
  'ai 7': { openai: createOpenAI, anthropic: createAnthropic },
} as const

type Vendor = 'openai' | 'anthropic'
const MODELS = { openai: 'gpt-4o', anthropic: 'claude-opus-4-5' } as const

const events = (...list: readonly { readonly type: string }[]): Response =>
  sse(list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
const error = { type: 'server_error', code: 'server_error', message: 'An error occurred.' }
const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 }
const failed = (more: object) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'gpt-4o',
  status: 'failed',
  error,
  output: [],
  ...more,
})
const failure = (more: object) => ({
  type: 'response.failed',
  sequence_number: 1,
  response: failed(more),
})

const refuse = () => Response.json({ type: 'error', error }, { status: 529 })

/** A hundred tokens of input at a dollar a million, and fifty of output at ten. */
const TOLD = 600
/** The least of an estimate: the default maximum of output. */
const ESTIMATE = 40_960

/** Answers with status 200 that the SDK turns into an error with a status of its own, and what they cost. */
const ANSWERS: readonly (readonly [string, Vendor, boolean, () => Response, number])[] = [
  [
    'an event that is malformed',
    'anthropic',
    true,
    () => events({ type: 'message_start' }),
    ESTIMATE,
  ],
  [
    'an event that is an error',
    'anthropic',
    true,
    () => events({ type: 'error', error } as never),
    ESTIMATE,
  ],
  ['a response that failed', 'openai', true, () => events(failure({})), ESTIMATE],
  [
    'a response that failed, with its usage',
    'openai',
    true,
    () => events(failure({ usage })),
    TOLD,
  ],
  ['JSON that failed', 'openai', false, () => Response.json(failed({})), ESTIMATE],
  [
    'JSON that failed, with its usage',
    'openai',
    false,
    () => Response.json(failed({ usage })),
    TOLD,
  ],
]

/** Calls limited models of a vendor once, which fails, and returns what was charged. */
async function chargedFor(model: unknown, stream: boolean): Promise<number> {
  const limiter = limiterOf()
  const background: Promise<unknown>[] = []
  const limited = limitedModel(model as AiSdkModel, limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    waitUntil: (promise) => void background.push(promise),
  })
  const call = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }] }
  const work = stream ? limited.doStream(call) : limited.doGenerate(call)
  // Some versions put the error into the stream.
  const read = Promise.resolve(work).then(
    async ({ stream: parts }) => parts?.pipeTo(new WritableStream()),
    () => undefined,
  )
  await read
  await Promise.all(background)
  return used(limiter, 'budget.daily')
}

describe.each(Object.entries(VERSIONS))('limitedModel with %s', (version, create) => {
  const modelOf = (vendor: Vendor, answer: () => Response): unknown =>
    create[vendor]({ apiKey: 'a', fetch: async () => answer() })(MODELS[vendor])

  it.each(ANSWERS)(
    'charges an answer that begins with %s',
    async (_name, vendor, stream, answer, least) => {
      const charged = await chargedFor(modelOf(vendor, answer), stream)
      expect(charged).toBeGreaterThanOrEqual(least)
      // In a stream version 5 passes the failure on without its usage.
      const isExact = least === TOLD && !(stream && version === 'ai 5')
      expect(isExact ? charged : TOLD).toBe(TOLD)
    },
  )

  it.each(['openai', 'anthropic'] as const)(
    'charges nothing for what %s refuses',
    async (vendor) => {
      expect(await chargedFor(modelOf(vendor, refuse), false)).toBe(0)
      expect(await chargedFor(modelOf(vendor, refuse), true)).toBe(0)
    },
  )

  it.each(['openai', 'anthropic'] as const)(
    'charges nothing without a key for %s',
    async (vendor) => {
      vi.stubEnv(`${vendor.toUpperCase()}_API_KEY`, undefined)
      const send = vi.fn<() => Promise<Response>>(async () => new Response())
      const model = create[vendor]({ fetch: send })(MODELS[vendor])
      expect(await chargedFor(model, false)).toBe(0)
      expect(await chargedFor(model, true)).toBe(0)
      expect(send).not.toHaveBeenCalled()
      vi.unstubAllEnvs()
    },
  )
})
