/* A change that a repeated request does not make twice. */
import { keyRecords } from '../api-keys/key-records.ts'
import { StoreError } from '../errors.ts'
import { hex } from '../internal/hex.ts'
import type { Limiter } from '../limiter/limiter.ts'

/** A request that may arrive more than once. */
export interface OnceRequest {
  /** The name that its sender gave it. */
  readonly id: string
  /** The request itself: another one must not have the same name. */
  readonly text: string
}

/** The end of a request, or the reason why nothing was done. */
export type OnceOutcome =
  | { readonly kind: 'first' | 'repeated'; readonly answer: string }
  | { readonly kind: 'unfinished' | 'other request' }

/** The time for which an answer is kept. */
const KEPT_MS = 86_400_000

/**
 * Makes a change once for a name: for a day, a repetition gets the first answer, and `run` is not called again. A change
 * that was refused may be tried again. After a failure of the store nobody knows whether it was made: it is `unfinished`.
 *
 * @param run Makes the change. Its answer is kept: leave secrets out.
 * @throws StoreError When the store fails, and whatever `run` throws.
 * @example
 * const outcome = await once(limiter, { id, text: body }, async () => JSON.stringify(await change()))
 */
export async function once(
  limiter: Limiter,
  { id, text }: OnceRequest,
  run: () => Promise<string>,
): Promise<OnceOutcome> {
  const records = keyRecords(limiter)
  const request = await digest(text)
  const field = { key: `once/${await digest(id)}`, field: 'outcome' }
  const write = (outcome: object) => {
    return { key: field.key, set: { outcome: JSON.stringify(outcome) }, ttlMs: KEPT_MS }
  }
  if (!(await records.write([write({ request })], { ...field, is: undefined }))) {
    const [stored] = await records.read([field])
    const first = JSON.parse(stored ?? '{}') as { request?: string; answer?: string }
    if (first.request !== request) return { kind: 'other request' }
    return first.answer === undefined
      ? { kind: 'unfinished' }
      : { kind: 'repeated', answer: first.answer }
  }
  let answer: string
  try {
    answer = await run()
  } catch (error) {
    if (!(error instanceof StoreError)) await records.remove([field.key])
    throw error
  }
  // Made, even if this fails: a repetition is then told that nobody knows.
  await records.write([write({ request, answer })]).catch(() => {})
  return { kind: 'first', answer }
}

const digest = async (text: string): Promise<string> =>
  hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
