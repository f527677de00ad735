import { InputError } from '@sluice/core'

/** Creates the error of a body, or of one of its fields. */
export const invalidBody = (message: string, field?: string): InputError =>
  new InputError('invalid_body', field ? `body.${field.slice(0, 64)}` : 'body', message)
