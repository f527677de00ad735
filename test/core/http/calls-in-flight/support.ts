import { concurrency, fixedWindow, type Store } from '@sluice/core'
import { reserving, type AdapterOptions } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { ACME, setUp } from '../../../support/limiters.ts'
import { app } from '../support.ts'

export const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })
export const tokens = fixedWindow({
  name: 'tpm',
  limit: 1_000,
  window: '366d',
  per: ['tenant'],
  unit: 'token',
})
export const cost = reserving({ token: 100 })
export type Handle = (request: Request) => Response | Promise<Response>

/** A handler behind a limit of one call in flight, and the tokens that are left. */
export function oneAtATime(
  handle: Handle,
  { store = memory(), ...options }: Partial<AdapterOptions> & { store?: Store } = {},
) {
  const { limiter } = setUp([inFlight, tokens], { store })
  const left = async () => {
    const { policies } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left, ask: app(limiter, { cost, ...options }, handle) }
}

/** An answer that goes on until the test ends it. */
export function endless(): { readonly answer: Response; readonly end: () => void } {
  let end: (() => void) | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('a'))
      end = () => controller.close()
    },
  })
  return { answer: new Response(body), end: () => end?.() }
}

export const failing = () => Promise.reject(new Error('no answer'))
