import { InputError } from '../../errors.ts'
import { refuse, type Refusal } from './refusal.ts'

const BODY_STATUSES: Readonly<Record<string, number>> = { invalid_body: 400, body_too_large: 413 }

/** Returns the refusal for an error of what a client has sent. */
export const inputRefusal = ({ code, input, reason }: InputError, status = 400): Refusal =>
  refuse({ status, code, message: `${input}: ${reason}` })

/** Returns the refusal for an error of the client's body, which a cost has read. Throws any other error again. */
export function refusedBody(error: unknown): Refusal {
  const status = error instanceof InputError && BODY_STATUSES[error.code]
  if (!status) throw error
  return inputRefusal(error, status)
}

/** Resolves to the result of `decide`, or to a refusal when a client's id cannot be counted. */
export async function orRefusal<T>(route: string, decide: Promise<T>): Promise<T | Refusal> {
  try {
    return await decide
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    if (error.code === 'invalid_cost') throw costError(error.input, error.reason, route)
    // A malformed id comes from the client; a missing dimension is the resolver's mistake.
    if (error.code !== 'invalid_subject') throw error
    return inputRefusal(error)
  }
}

/** Creates the error of an invalid cost, which names the route. */
export function costError(input: string, reason: string, route: string): InputError {
  return new InputError('invalid_cost', input, `${reason}, on the route "${route}"`)
}
