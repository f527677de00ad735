import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { concurrency, createLimiter, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedFetch, modelHandler } from '@sluice/ai'
import { expect, it } from 'vitest'
import { post, QUESTION, subject } from '../doors.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

type Send = (signal: AbortSignal) => Response
type Door = (limiter: Limiter, send: Send) => (request: Request) => Promise<Response>

const DOORS: Readonly<Record<string, Door>> = {
  modelHandler: (limiter, send) =>
    modelHandler(limiter, { subject, api: 'openai-chat' }, ({ signal }) => send(signal)),
  limitedFetch(limiter, send) {
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> =>
      send(init?.signal as AbortSignal)
    return limitedFetch(limiter, { subject, fetch })
  },
}

it.each(Object.entries(DOORS))(
  '%s ends a stalled call when its client hangs up, though its request has been collected',
  async (_, open) => {
    const limiter = createLimiter({
      store: memory(),
      policies: [concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })],
    })
    const held: unknown[] = []
    let isAborted = false
    const call = open(limiter, (signal) => {
      signal.addEventListener('abort', () => (isAborted = true))
      // As a socket does, it keeps its end of a stream from which nothing comes any more.
      const stall = new ReadableStream({ start: (controller) => void held.push(controller) })
      return new Response(stall, { headers: { 'content-type': 'text/event-stream' } })
    })
    const client = new AbortController()
    const response = await call(new Request(post({ ...QUESTION, stream: true }), client))
    const reader = response.body?.getReader()
    held.push(reader)
    const reading = reader?.read().catch((error: Error) => error.name)
    for (let turn = 0; turn < 3; turn += 1) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
    client.abort()
    expect(await reading).toBe('AbortError')
    expect(isAborted).toBe(true)
    const { policies } = await limiter.peek(subject(), { cost: { call: 1 } })
    expect(policies[0]?.remaining).toBe(1)
  },
)
