import { invalidOption } from '@sluice/core/internal'
import type { DenialBody } from '@sluice/core/http'

/** The result of a tool, as far as the limits read it. */
export interface ToolResult {
  readonly content?: unknown
  readonly isError?: boolean | undefined
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** The result of a call that is refused. A type, because interfaces lack the index signature of the SDK's results. */
export type RefusedResult = {
  isError: true
  content: { type: 'text'; text: string }[]
  _meta: Record<string, unknown>
}

/** The field of `_meta` that is ours. */
const META = 'sluice/rate-limit'

/** Returns `code` if it is a whole number, else throws. */
export function assertCode(option: string, code: unknown): void {
  if (Number.isSafeInteger(code)) return
  throw invalidOption(option, 'must be a whole number, such as -32023')
}

/**
 * Returns the result of a call that is refused: a text for the model, and the facts for its program. They
 * are in `_meta`, because clients hold `structuredContent` to the output schema of the tool.
 */
export async function refusedResult(
  response: Response,
  code: number | undefined,
): Promise<RefusedResult> {
  const text = await response.text()
  // Without a body, the client is gone.
  const body = (text === '' ? { message: 'Cancelled.' } : JSON.parse(text)) as Partial<DenialBody>
  const end = endOf(body)
  const facts = code === undefined ? body : { code, ...body }
  return {
    isError: true,
    content: [{ type: 'text', text: (body.message ?? '') + end }],
    _meta: { [META]: facts },
  }
}

/** Returns when the tool may be called again: nothing if that is the end of a calendar's period, which the message has. */
function endOf({ resetAt, resetsAt = '' }: Partial<DenialBody>): string {
  if (typeof resetAt !== 'number') return ''
  const isInMessage = Date.parse(resetsAt.replace(/\[.*/, '')) === resetAt * 1_000
  return isInMessage ? '' : ` It is reset at ${isoSeconds(resetAt)}.`
}

/** Adds the limits' headers to a result, unless it is the denial of a limiter further in. */
export function withHeaders<Result extends ToolResult>(
  result: Result,
  headers: Readonly<Record<string, string>>,
): Result {
  const { _meta: meta } = result
  if (result.isError === true && meta?.[META] !== undefined) return result
  return { ...result, _meta: { ...meta, [META]: headers } }
}

const isoSeconds = (seconds: number): string =>
  new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
