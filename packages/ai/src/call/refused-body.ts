import { InputError } from '@sluice/core'
import type { Refusal } from '@sluice/core/http'
import { inputRefusal } from '@sluice/core/internal/http'

/** Throws any other error than that of a body: a mistake of the options or of the resolver. */
export function assertOfBody(error: unknown): asserts error is InputError {
  if (!(error instanceof InputError && /body|unknown_model/.test(error.code))) throw error
}

/** Returns the refusal for the error of a body. Throws any other error. */
export function refusalOf(error: unknown): Refusal {
  assertOfBody(error)
  return inputRefusal(error, error.code === 'body_too_large' ? 413 : 400)
}
