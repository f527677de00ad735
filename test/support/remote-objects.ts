import { decode, kindsOf } from '@sluice/core/internal/places'
import type { LimitsNamespace } from '@sluice/cloudflare/durable-object'

/** A binding whose ids are names. */
export type Namespace = LimitsNamespace

const KINDS = kindsOf()

/** Calls an object behind the Worker of `fixtures/objects.ts`. */
export async function callObject(
  url: URL | string,
  name: string,
  method: string,
  message?: string,
): Promise<unknown> {
  const body = JSON.stringify({ name, method, message })
  const response = await fetch(url, { method: 'POST', body })
  const text = await response.text()
  if (response.ok) return decode(text, KINDS)
  throw Object.assign(new Error(), JSON.parse(text))
}

/** Returns the binding of the objects behind that Worker. */
export const namespaceAt = (url: URL | string): Namespace => ({
  idFromName: (name: string) => name as never,
  get: (id) => ({
    async sluice(message) {
      const answer = await callObject(url, String(id), 'sluice', message)
      const { reply } = answer as { reply?: { values: unknown[] } }
      // JSON has no undefined. Objects answer as structured data, which has.
      if (reply) reply.values = reply.values.map((value) => value ?? undefined)
      return answer as never
    },
  }),
})
