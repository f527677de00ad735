import type { Store } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { LocalServer } from '@sluice/local'

type Fetch = NonNullable<NonNullable<Parameters<typeof upstash>[0]>['fetch']>

/** A command that was sent: its name, the script's digest or text, and the keys. */
export interface Sent {
  readonly name: string
  readonly script: string
  readonly keys: readonly string[]
}

/** A store, and all the commands that it sends. */
export function recordingStore(
  { url, token }: LocalServer,
  prefix: string,
): { store: Store; sent: Sent[] } {
  const sent: Sent[] = []
  const record: Fetch = (target, init) => {
    const [name, script, count, ...rest] = JSON.parse(init.body) as [string, string, number]
    sent.push({ name, script, keys: (rest as string[]).slice(0, count) })
    return fetch(target, init)
  }
  return { store: upstash({ url, token, prefix, timeoutMs: 30_000, fetch: record }), sent }
}
