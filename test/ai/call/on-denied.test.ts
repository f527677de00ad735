import { slidingWindow, type DeniedDecision, type Limiter } from '@sluice/core'
import { limitedFetch, limitedModel, ModelCallDenied, modelHandler } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { limiterOf, post, PRICES, QUESTION, subject } from '../doors.ts'

type OnDenied = (decision: DeniedDecision, ...given: unknown[]) => unknown

/** The answer that a caller of a door gets: the status and the text of an answer, or the name of an error. */
interface Result {
  readonly status?: number
  readonly text?: string
  readonly headers?: Headers
  readonly error?: string
}

interface Door {
  /** Makes calls through the door: one, or one with a field that is refused. */
  readonly open: (limiter: Limiter, onDenied: OnDenied) => (isRefused?: boolean) => Promise<Result>
  /** A result of `onDenied`, and what the caller gets then. */
  readonly own: () => Response | Error
  readonly expected: Result
  readonly usual: Result
}

const resultOf = async (answer: Response): Promise<Result> => ({
  status: answer.status,
  headers: answer.headers,
  text: await answer.text(),
})

const bodyOf = (isRefused = false): unknown => ({ ...QUESTION, ...(isRefused && { turbo: true }) })

/** The doors that answer with a response. */
const RESPONDING = {
  own: () => new Response('cached', { status: 203 }),
  expected: { status: 203, text: 'cached' },
  usual: { status: 429 },
}

const DOORS: Readonly<Record<string, Door>> = {
  modelHandler: {
    open(limiter, onDenied) {
      const options = { subject, prices: PRICES, api: 'openai-chat', onDenied } as const
      const handle = modelHandler(limiter, options as never, () => Response.json({}))
      return async (isRefused) => resultOf(await handle(post(bodyOf(isRefused))))
    },
    ...RESPONDING,
  },
  limitedFetch: {
    open(limiter, onDenied) {
      const options = { subject, prices: PRICES, onDenied, fetch: async () => Response.json({}) }
      const limited = limitedFetch(limiter, options as never)
      return async (isRefused) => resultOf(await limited(post(bodyOf(isRefused))))
    },
    ...RESPONDING,
  },
  limitedModel: {
    open(limiter, onDenied) {
      const model = {
        specificationVersion: 'v3',
        provider: 'p',
        modelId: 'gpt-4o',
        doGenerate: async (..._call: object[]) => ({ content: [], usage: {} }),
        doStream: async (..._call: object[]) => ({ stream: new ReadableStream() }),
      }
      const options = { subject, prices: PRICES, onDenied } as never
      const limited = limitedModel(model, limiter, options)
      return async (isRefused) => {
        const data = new URL('https://files.example/a.pdf')
        const content = isRefused ? [{ type: 'file', mediaType: 'application/pdf', data }] : []
        try {
          await limited.doGenerate({ prompt: [{ role: 'user', content }] })
          return {}
        } catch (error) {
          return { error: (error as Error).name }
        }
      }
    },
    own: () => Object.assign(new Error('Come back tomorrow.'), { name: 'SpentError' }),
    expected: { error: 'SpentError' },
    usual: { error: ModelCallDenied.name },
  },
}

const one = slidingWindow({ name: 'one', limit: 1, window: '1m', per: ['tenant'] })

describe.each(Object.entries(DOORS))('%s', (_, { open, own, expected, usual }) => {
  it('gives the result of onDenied to the caller', async () => {
    const onDenied = vi.fn<OnDenied>(own)
    const call = open(limiterOf(one), onDenied)
    await call()
    expect(onDenied).not.toHaveBeenCalled()
    const { headers, ...result } = await call()
    expect(result).toMatchObject(expected)
    expect(onDenied.mock.lastCall?.[0]).toMatchObject({ violated: { name: 'one' } })
    expect(headers?.get('x-ratelimit-limit') ?? '1').toBe('1')
  })

  it('denies as always where onDenied returns nothing', async () => {
    const call = open(limiterOf(one), () => undefined)
    await call()
    expect(await call()).toMatchObject(usual)
  })

  it('asks onDenied when the request of a refused call does not fit, too', async () => {
    const onDenied = vi.fn<OnDenied>(own)
    const call = open(limiterOf(one), onDenied)
    await call()
    expect(await call(true)).toMatchObject(expected)
    expect(onDenied).toHaveBeenCalledTimes(1)
  })

  it('does not catch what onDenied throws', async () => {
    const call = open(limiterOf(one), () => {
      throw new TypeError('A mistake.')
    })
    await call()
    const failed = call().then(
      ({ error }) => error,
      (error: unknown) => (error as Error).name,
    )
    expect(await failed).toBe('TypeError')
  })
})
