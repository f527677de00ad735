import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { ConfigError } from '@sluice/core'
import type { DenialBody } from '@sluice/core/http'

/** The field of `_meta` that is ours. */
const META = 'sluice/rate-limit'

/** Returns `code` if it is a whole number, else throws. */
export function assertCode(option: string, code: unknown): void {
  if (Number.isSafeInteger(code)) return
  throw new ConfigError('invalid_option', option, 'must be a whole number, such as -32023')
}

/**
 * Returns the result of a call that is refused: a text for the model, and the facts for its program. They
 * are in `_meta`, because clients hold `structuredContent` to the output schema of the tool.
 */
export async function refusedResult(
  response: Response,
  code: number | undefined,
): Promise<CallToolResult> {
  const text = await response.text()
  // Without a body, the client is gone.
  const body = (text === '' ? { message: 'Cancelled.' } : JSON.parse(text)) as Partial<DenialBody>
  const { message = '', resetAt } = body
  const end = typeof resetAt === 'number' ? ` It is reset at ${isoSeconds(resetAt)}.` : ''
  const facts = code === undefined ? body : { code, ...body }
  return {
    isError: true,
    content: [{ type: 'text', text: message + end }],
    _meta: { [META]: facts },
  }
}

/** Adds the limits' headers to a result, unless it is the denial of a limiter further in. */
export function withHeaders(
  result: CallToolResult,
  headers: Readonly<Record<string, string>>,
): CallToolResult {
  const { _meta: meta, ...rest } = result
  if (result.isError === true && meta?.[META] !== undefined) return result
  return { ...rest, _meta: { ...meta, [META]: headers } }
}

function isoSeconds(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}
