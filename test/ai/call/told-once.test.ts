import { createOpenAI } from '@ai-sdk/openai'
import { limitedFetch, limitedModel, meter, modelHandler, type AiSdkModel } from '@sluice/ai'
import type { Limiter, WaitUntil } from '@sluice/core'
import { rateLimit, reservationOf, reserving } from '@sluice/core/http'
import { settleWithRetry } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import type { Loss } from '../../support/losing-store.ts'
import { finish, heardBy, holdPauses, ledgerOf, minusFirst, setUp } from '../../usage/heard.ts'
import { post, PRICES, QUESTION, sse, subject } from '../doors.ts'
import * as recorded from '../recordings.ts'

const url = 'https://provider.example/v1/chat/completions'
const init = { method: 'POST', body: JSON.stringify({ ...QUESTION, max_tokens: 1_000 }) }
const PROMPT = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]

/** Makes one call through a door to a provider that answers this. */
type Door = (limiter: Limiter, answer: () => Response, waitUntil: WaitUntil) => Promise<unknown>

const modelOf = (limiter: Limiter, answer: () => Response, waitUntil: WaitUntil): AiSdkModel =>
  limitedModel(
    createOpenAI({ apiKey: 'k', fetch: async () => answer() }).chat('gpt-4o') as AiSdkModel,
    limiter,
    { subject, prices: PRICES, maxOutput: 1_000, waitUntil },
  )

const DOORS: Readonly<Record<string, Door>> = {
  modelHandler: async (limiter, answer, waitUntil) => {
    const options = { subject, prices: PRICES, api: 'openai-chat', waitUntil } as const
    return (await modelHandler(limiter, options, answer)(post(init.body))).text()
  },
  limitedFetch: async (limiter, answer, waitUntil) => {
    const fetch = async (): Promise<Response> => answer()
    const limited = limitedFetch(limiter, { subject, prices: PRICES, fetch, waitUntil })
    return (await limited(url, init)).text()
  },
  'limitedModel, doGenerate': async (limiter, answer, waitUntil) =>
    modelOf(limiter, answer, waitUntil).doGenerate({ prompt: PROMPT }),
  'a route that reserves, with a meter': async (limiter, answer, waitUntil) => {
    const cost = reserving({ token: 4_000, usd: 40_000 })
    const options = { routes: ['/**'], subject, cost, waitUntil }
    const handle = rateLimit(limiter, options, (request) => {
      const call = reservationOf(request)
      return meter(answer(), {
        inputTokens: 10,
        waitUntil,
        settle: ({ input, output }) =>
          settleWithRetry(() => call.settle({ token: input + output, usd: 300 })),
      })
    })
    return (await handle(post(init.body))).text()
  },
}

const ANSWERS: Readonly<Record<string, () => Response>> = {
  'an answer': () => Response.json(recorded.CHAT_JSON),
  'a stream': () => sse(recorded.CHAT_SSE),
  'an error of the provider': () => Response.json({ error: { message: 'no' } }, { status: 500 }),
}

const LOSSES: Loss[][] = [
  [undefined, 'request'],
  [undefined, 'reply'],
  [undefined, 'reply', 'request'],
  [undefined, 'request', 'reply'],
  ['request'],
  ['reply'],
]

holdPauses()

describe.each(Object.entries(DOORS))('a call through %s', (_, door) => {
  describe.each(['deny', 'allow', 'local'] as const)('with onStoreError %s', (mode) => {
    it.each(
      LOSSES.map((losses) => [losses.map((loss) => loss ?? 'nothing').join(', '), losses] as const),
    )('is told as it is charged if its calls to the store lose %s', async (_losses, losses) => {
      for (const [name, answer] of Object.entries(ANSWERS)) {
        const { losing, limiter, codes, heard } = await setUp(mode)
        losing.lose(losses)
        const works: Promise<unknown>[] = []
        await finish(door(limiter, answer, (work) => void works.push(work)))
        await finish(Promise.all(works))
        expect(losing.left.filter(Boolean), `lost of ${name}`).toEqual([])
        expect(codes()).not.toContain('reservation_lost')
        const stored = minusFirst(await ledgerOf(limiter, ACME.tenant))
        const told = await heard()
        // A call that never reached the store is charged in this process's memory.
        const isInMemory = mode === 'local' && losses[0] === 'request'
        const charged = isInMemory ? minusFirst(told.rows) : stored
        expect(told, `heard of ${name}`).toEqual(heardBy(charged))
        expect(isInMemory ? stored.usd : 0, `stored of ${name}`).toBe(0)
      }
    })
  })
})
