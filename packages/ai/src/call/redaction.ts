/* Facts about the operator in a provider's answers, which clients are not to know. */
import { forwardResponse } from '@sluice/core/internal/http'
import { readText } from './read-body.ts'

/** The longest error of a provider that is passed on, in bytes. */
const MAX_ERROR_BYTES = 65_536

/** Headers that name the operator's account, set cookies for the provider, or send clients there. */
const LEFT_OUT = /organi[sz]ation|project|account|cookie|^location$/

/**
 * Ids of organisations, projects, users and accounts, keys, also shortened ones, and JWTs, as providers quote them.
 * An id has a digit, is long or begins with `sk`, so that words such as `project_not_found` stay. A word begins also after
 * `\n`, which in JSON ends with a letter.
 */
const PRIVATE =
  /(?<=\b|\\n)(?:(?:org|proj\w*|user|g?sk|xai|key)[-_:/]|AIza|arn:aws)(?:(?<=sk.)|(?=[\w*.:/-]{0,64}[\d*]|[a-z]{16}))[\w*.:/-]{5,200}[\w*]|[\w-]{0,64}\*{3}[\w*-]*|\b[\da-f-]{32,36}\b|\beyJ[\w.-]{20,}/gi

const REDACTED = '[redacted]'

/**
 * Returns a provider's answer without what it says about the operator: headers that name the account, and,
 * in errors, ids and keys. Status, retry headers and the words that clients act by stay. Throws if an error
 * is too long or breaks off.
 *
 * @param key The operator's key, if it is known.
 */
export async function hideOperator(answer: Response, key: string = REDACTED): Promise<Response> {
  const { status, ok, body } = answer
  // A 101 carries a WebSocket, and a network error cannot be copied.
  if (status < 200) return answer
  const copy = forwardResponse(answer, ok || !body ? body : await readError(answer, key))
  for (const name of answer.headers.keys()) {
    if (LEFT_OUT.test(name)) copy.headers.delete(name)
  }
  return copy
}

async function readError(answer: Response, key: string): Promise<string> {
  const text = await readText(answer, MAX_ERROR_BYTES)
  return text.replaceAll(PRIVATE, REDACTED).replaceAll(key.trim(), REDACTED)
}
