import type { CallNotes } from './call-notes.ts'
import { nameRequest } from './request-id.ts'

/** Returns an answer with the id of its request and, if the gateway refuses, with its advice on retries. */
export function finish(answer: Response, notes: CallNotes): Response {
  const { body = answer.body, status = answer.status } = notes.answer ?? {}
  const headers = new Headers(answer.headers)
  notes.answer?.headers.forEach((value, name) => headers.set(name, value))
  const isOwn = status >= 400 && notes.outcome !== 'error'
  if (isOwn && !headers.has('x-should-retry')) {
    // A time to retry at is known, or a retry is of no use: the clients would retry each 429 and 5xx.
    headers.set('x-should-retry', String(headers.has('retry-after')))
  }
  nameRequest(headers, notes.id, notes.upstreamId)
  return new Response(body, { status, headers })
}
