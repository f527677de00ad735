import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { vi } from 'vitest'
import type { Target } from './target.ts'
import { signed } from './tokens.ts'
import { MODELS } from '../../support/models.ts'

export const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }]

/** The usage of each limit of `/api/chat`, by the name of its policy. */
export type Used = Readonly<Record<string, number>>

/** One tenant's way to the demo's chat completions. */
export interface Chatter {
  readonly token: string
  readonly post: (body: object, signal?: AbortSignal) => Promise<Response>
  /** Looking charges nothing. */
  readonly used: () => Promise<Used>
  /** The usage once no call is in flight: a call is settled a moment after its last word. */
  readonly settled: () => Promise<Used>
}

/** A tenant that has never been seen. */
export async function newChatter(target: { readonly url: string }, plan = 'starter') {
  const token = await signed({ tenant: `chat-${randomUUID()}`, plan })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const chatter: Chatter = {
    token,
    post: (body, signal) =>
      fetch(`${target.url}/api/chat`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: MODELS.openai, messages, ...body }),
        ...(signal && { signal }),
      }),
    async used() {
      const answer = await fetch(`${target.url}/api/limits?route=chat`, { headers })
      const { policies } = (await answer.json()) as { policies: PolicyTold[] }
      return Object.fromEntries(
        policies.map(({ name, limit, remaining }) => [name, limit - remaining]),
      )
    },
    settled: () =>
      vi.waitFor(
        async () => {
          const used = await chatter.used()
          if (used['in-flight'] !== 0) throw new Error('A call is still in flight')
          return used
        },
        { timeout: 30_000, interval: 20 },
      ),
  }
  return chatter
}

interface PolicyTold {
  readonly name: string
  readonly limit: number
  readonly remaining: number
}

/** The next request to the model, in the test's hands: it answers nothing by itself. */
export function nextAsked(target: Target): Promise<ServerResponse> {
  return new Promise((resolve) => {
    target.upstream.respond = resolve
  })
}

/** A chunk of a streamed completion. */
export const chunk = (content: string): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`

/** The chunk that tells the usage. */
export const usageChunk = (input: number, output: number): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [], usage: usageOf(input, output) })}\n\n`

export const usageOf = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})
