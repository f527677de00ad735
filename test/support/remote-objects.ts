import { remoteObjects } from '@sluice/cloudflare/operator'
import type { LimitsNamespace } from '@sluice/cloudflare/durable-object'

/** A binding whose ids are names. */
export type Namespace = LimitsNamespace

/** The token of the handler in `fixtures/objects.ts`. */
export const OBJECTS_TOKEN = 'the-token-of-the-objects-of-tests'

/** Calls a method of an object behind the Worker of `fixtures/objects.ts`. */
export async function callObject(
  url: URL | string,
  name: string,
  method: string,
): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ name, method }) })
  const data: unknown = await response.json()
  if (response.ok) return data
  throw Object.assign(new Error(), data)
}

/** Returns the binding of the objects behind that Worker. */
export const namespaceAt = (url: URL | string): Namespace =>
  remoteObjects({ url: String(url), token: OBJECTS_TOKEN })
