import { once } from 'node:events'
import { createServer } from 'node:http'
import { createLimiter, type Cost, type Policy, type Reservation } from '@sluice/core'
import { tooManyRequests, type DenialFormat } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { addressOf } from '../e2e/support/ports.ts'
import { COMPLETION, MESSAGE, type Attempt, type Provider } from './provider.ts'

export interface ReservingOptions {
  readonly policies: readonly Policy[]
  readonly format: DenialFormat
  /** What each call reserves; one that went before has reserved it too, and left no room. */
  readonly cost: Cost
  /** Hears of the call before when another one is denied, to end it, say. */
  readonly onDenied?: (before: Reservation) => Promise<unknown>
  readonly clock?: () => number
}

/** As `startProvider`, for an endpoint that reserves: a call before has taken all there was. */
export async function startReserving(options: ReservingOptions): Promise<Provider> {
  const { policies, format, cost, onDenied, clock } = options
  const limiter = createLimiter({ store: memory(), policies, ...(clock && { clock }) })
  const subject = { tenant: 'acme' }
  const attempts: Attempt[] = []
  let before: Reservation | undefined

  async function respond(path: string): Promise<Response> {
    const at = performance.now()
    if (before === undefined) {
      const first = await limiter.reserve(subject, { cost })
      if (!first.allowed) throw new Error('There was no room to begin with')
      before = first
    }
    const decision = await limiter.reserve(subject, { cost })
    const response = decision.allowed
      ? Response.json(path.endsWith('/messages') ? MESSAGE : COMPLETION)
      : tooManyRequests(decision, { format })
    if (decision.allowed) await decision.settle(cost)
    else await onDenied?.(before)
    const { status, headers } = response
    attempts.push({ at, answeredAt: performance.now(), status, headers })
    return response
  }

  const server = createServer((request, response) => {
    request.resume()
    void respond(request.url ?? '/').then(async (answered) => {
      response.writeHead(answered.status, Object.fromEntries(answered.headers))
      response.end(await answered.text())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${addressOf(server).port}`,
    attempts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
