/* Doors with a list of models, in front of a provider whose answers a test decides. */
import {
  definePrices,
  limitedFetch,
  limitedModel,
  modelHandler,
  type AiSdkModel,
  type CallOptions,
} from '@sluice/ai'
import { fallback, type Fallback, type FallbackModel } from '@sluice/ai/fallback'
import type { Limiter } from '@sluice/core'
import { vi } from 'vitest'

/** Ten, two and one dollars per million tokens of output, and a tenth of that of input. */
export const PRICES = definePrices({
  large: { input: 1_000_000, output: 10_000_000 },
  middle: { input: 200_000, output: 2_000_000 },
  small: { input: 100_000, output: 1_000_000 },
})

const MODELS = ['large', 'middle', 'small'] as const

/** A request to the provider. */
export interface Sent {
  readonly model: string
  readonly most: number
}

type Answer = (sent: Sent) => Response | Promise<Response>

/** An answer of the model that was asked, with a usage. */
export const answered = ({ model }: Sent, output = 50): Response =>
  Response.json({
    model,
    choices: [{ message: { role: 'assistant', content: `I am ${model}.` } }],
    usage: { prompt_tokens: 10, completion_tokens: output },
  })

/** An error as the provider itself answers it. */
export const refused = (status: number): Response =>
  Response.json({ error: { message: 'no', type: 'server_error' } }, { status })

/** The result of a call by a door. */
interface Result {
  readonly status: number
  /** The model that the answer names. */
  readonly model: unknown
  readonly headers: Headers
}

export interface DoorTerms {
  readonly limiter: Limiter
  readonly answer: Answer
  readonly list?: readonly FallbackModel[]
  readonly options?: Partial<CallOptions>
  readonly signal?: AbortSignal
  readonly body?: object
}

/** A door that has been called, and all that it did. */
export interface Called {
  readonly sent: Sent[]
  readonly told: Fallback[]
  readonly result: Result
}

type Door = (
  terms: DoorTerms & { readonly send: (sent: Sent) => Promise<Response> },
  options: CallOptions & { readonly waitUntil: (promise: Promise<unknown>) => void },
) => Promise<Result>

export const QUESTION = { model: 'large', messages: [{ role: 'user', content: 'Why?' }] }
const URL_OF_PROVIDER = 'https://provider.example/v1/chat/completions'
const subject = { tenant: 'acme' }

const resultOf = async (response: Response): Promise<Result> => {
  const text = await response.text()
  const body = (text.startsWith('{') ? JSON.parse(text) : {}) as { readonly model?: unknown }
  return { status: response.status, model: body.model, headers: response.headers }
}

const sentBy = (body: unknown): Sent => {
  const { model, max_tokens: most } = JSON.parse(String(body)) as Record<string, unknown>
  return { model: model as string, most: most as number }
}

const post = (body: object, signal?: AbortSignal): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  ...(signal && { signal }),
})

/** A model of the AI SDK, which throws the errors of the SDK. */
export function sdkModel(name: string, send: (sent: Sent) => Promise<Response>): AiSdkModel {
  const doGenerate = async (call: { readonly maxOutputTokens: number }) => {
    const response = await send({ model: name, most: call.maxOutputTokens })
    const body = (await response.json()) as {
      readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number }
    }
    if (!response.ok) {
      throw Object.assign(new Error('no'), {
        name: 'AI_APICallError',
        statusCode: response.status,
        responseHeaders: Object.fromEntries(response.headers),
        responseBody: JSON.stringify(body),
        isRetryable: true,
      })
    }
    const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = body.usage!
    return { content: [], finishReason: 'stop', usage: { inputTokens, outputTokens } }
  }
  return {
    specificationVersion: 'v2',
    provider: 'mock',
    modelId: name,
    doGenerate,
    doStream: doGenerate,
  }
}

/** Doors, by name. */
export const DOORS: Readonly<Record<string, Door>> = {
  'modelHandler with an address': async ({ limiter, send, signal, body = QUESTION }, options) => {
    vi.stubGlobal('fetch', async (_: unknown, init: RequestInit) => send(sentBy(init.body)))
    const handle = modelHandler(
      limiter,
      { ...options, subject: () => subject },
      { url: URL_OF_PROVIDER, key: 'a' },
    )
    return resultOf(await handle(new Request('https://app.example/', post(body, signal))))
  },
  'modelHandler with a function': async ({ limiter, send, signal, body = QUESTION }, options) => {
    const handle = modelHandler(
      limiter,
      { ...options, subject: () => subject, api: 'openai-chat' },
      (call) => send(sentBy(call.body)),
    )
    return resultOf(await handle(new Request('https://app.example/', post(body, signal))))
  },
  limitedFetch: async ({ limiter, send, signal, body = QUESTION }, options) => {
    vi.stubGlobal('fetch', async (_: unknown, init: RequestInit) => send(sentBy(init.body)))
    const fetch = limitedFetch(limiter, { ...options, subject })
    return resultOf(await fetch(URL_OF_PROVIDER, post(body, signal)))
  },
  'limitedFetch with a fetch': async ({ limiter, send, signal, body = QUESTION }, options) => {
    const fetch = limitedFetch(limiter, {
      ...options,
      subject,
      fetch: (_, init) => send(sentBy(init?.body)),
    })
    return resultOf(await fetch(URL_OF_PROVIDER, post(body, signal)))
  },
  limitedModel: async ({ limiter, send, signal, list = MODELS.slice(1) }, options) => {
    const { onFallback } = options as { readonly onFallback?: (fallback: Fallback) => void }
    const models = list.map((one) =>
      typeof one === 'string'
        ? sdkModel(one, send)
        : { ...(one as object), model: sdkModel((one as { model: string }).model, send) },
    ) as FallbackModel[]
    const { ...rest } = options
    delete (rest as { onFallback?: unknown }).onFallback
    const model = limitedModel(sdkModel('large', send), limiter, {
      ...rest,
      subject,
      fallbackModels: fallback(models, { ...(onFallback && { onFallback }) }),
    })
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]
    try {
      const answer = (await model.doGenerate({
        prompt,
        ...(signal && { abortSignal: signal }),
      })) as {
        readonly response?: { readonly modelId?: string }
      }
      return { status: 200, model: answer.response?.modelId ?? 'large', headers: new Headers() }
    } catch (error) {
      const { statusCode, isRetryable } = error as Record<string, unknown>
      if (statusCode === undefined) throw error
      const headers = new Headers(isRetryable === false ? { 'x-should-retry': 'false' } : {})
      return { status: statusCode as number, model: undefined, headers }
    }
  },
}

/** Calls a door, and waits for all that it does later. */
export async function callBy(door: string, terms: DoorTerms): Promise<Called> {
  const { answer, list = MODELS.slice(1), options } = terms
  const sent: Sent[] = []
  const told: Fallback[] = []
  const background: Promise<unknown>[] = []
  const send = async (one: Sent): Promise<Response> => {
    sent.push(one)
    return answer(one)
  }
  const onFallback = (fallback_: Fallback) => void told.push(fallback_)
  const base = {
    prices: PRICES,
    maxOutput: 1_000,
    waitUntil: (promise: Promise<unknown>) => void background.push(promise),
    onError: () => undefined,
    ...options,
  }
  const own =
    door === 'limitedModel'
      ? { ...base, onFallback }
      : { ...base, fallbackModels: fallback(list, { onFallback }) }
  try {
    const result = await DOORS[door]!({ ...terms, send }, own)
    return { sent, told, result }
  } finally {
    vi.unstubAllGlobals()
    while (background.length > 0) await background.shift()
  }
}
