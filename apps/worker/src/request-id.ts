/** The form of an id that is kept: no space or sign that would end a header or a field of a log. */
const VALID = /^[\w.:@=+/-]{1,128}$/

/** Returns the id that the client gave its request, or a new one. */
export function requestIdOf({ headers }: Request): string {
  const given = ['x-request-id', 'x-client-request-id'].map((name) => headers.get(name) ?? '')
  return given.find((id) => VALID.test(id)) ?? `req_${crypto.randomUUID().replaceAll('-', '')}`
}

/** Returns the id that a provider gave its answer. */
export const upstreamIdOf = ({ headers }: Response): string | undefined =>
  headers.get('x-request-id') ?? headers.get('request-id') ?? undefined

/** Names the request in an answer: OpenAI's clients read the one header, Anthropic's the other. */
export function nameRequest(headers: Headers, id: string, upstreamId: string | undefined): void {
  headers.set('x-request-id', id)
  headers.set('request-id', id)
  if (upstreamId !== undefined) headers.set('x-upstream-request-id', upstreamId)
}
