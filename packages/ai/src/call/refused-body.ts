import { InputError } from '@sluice/core'
import { refuse, type Refusal } from '@sluice/core/http'

/** Throws any other error than that of a body: a mistake of the options or of the resolver. */
export function assertOfBody(error: unknown): asserts error is InputError {
  if (!(error instanceof InputError && /body|unknown_model/.test(error.code))) throw error
}

/** Returns the refusal for the error of a body. Throws any other error. */
export function refusalOf(error: unknown): Refusal {
  assertOfBody(error)
  const { code, input, reason } = error
  return refuse({
    status: code === 'body_too_large' ? 413 : 400,
    code,
    message: `${input}: ${reason}`,
  })
}
