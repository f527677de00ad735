import type { RetryingFetchOptions } from '@sluice/core/client'
import { retryingFetch } from '@sluice/core/client'

export const ADDRESS = 'https://api.example/v1/things'

/** The time of all tests, which no machine has. */
export const NOON = Date.UTC(2031, 5, 1, 12)

/** A refusal with these headers. */
export const refused = (headers: HeadersInit = {}, status = 429): Response =>
  new Response('Slow down.', { status, headers })

/**
 * A `retryingFetch` over a server that gives these answers in turn, then 200. `waits` are the waits that it
 * was made to sleep, and `bodies` what the server read.
 */
export function clientOf(
  answers: readonly Response[],
  options: RetryingFetchOptions = {},
): { send: ReturnType<typeof retryingFetch>; waits: number[]; bodies: string[] } {
  const queue = [...answers]
  const [waits, bodies]: [number[], string[]] = [[], []]
  const send = retryingFetch({
    fetch: async (input, init) => {
      bodies.push(await new Request(input, init).text())
      return queue.shift() ?? new Response('done')
    },
    clock: () => NOON,
    sleep: async (ms) => void waits.push(ms),
    random: () => 0,
    ...options,
  })
  return { send, waits, bodies }
}
