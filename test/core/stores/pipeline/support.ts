import { upstash, type Fetch, type UpstashOptions } from '@sluice/core/upstash'

type Answer = Awaited<ReturnType<Fetch>>

export const textAnswer = (status: number, text: string): Answer => ({
  ok: status < 300,
  status,
  text: () => Promise.resolve(text),
})

/** The commands of a request: one, or those of a pipeline. */
export function commandsOf(body: string): readonly (readonly unknown[])[] {
  const parsed = JSON.parse(body) as unknown[]
  return (Array.isArray(parsed[0]) ? parsed : [parsed]) as unknown[][]
}

/** The answer of a Redis in which each command returns this. */
export function everyResult(body: string, result: unknown = 1): Answer {
  const replies = commandsOf(body).map(() => ({ result }))
  return textAnswer(200, JSON.stringify(body.startsWith('[[') ? replies : replies[0]))
}

/** A store of a database that nobody else asks, whose requests `fetch` answers. */
export const storeBy = (fetch: Fetch, options: UpstashOptions = {}) => {
  made += 1
  return upstash({
    url: `http://redis-${made}.example`,
    token: 'token',
    fetch,
    pipeline: true,
    timeoutMs: 30_000,
    ...options,
  })
}
let made = 0

/** An answer that comes when it is let go. */
export function heldBack(): { readonly held: Promise<void>; readonly letGo: () => void } {
  let release: (() => void) | undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  return { held, letGo: () => release?.() }
}
