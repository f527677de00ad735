import { invalidOption } from '../internal/validation.ts'

/** Returns `name` if it can be the name of a header (an RFC 9110 token), else throws. */
export function assertHeaderName(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name
  throw invalidOption(option, 'must be the name of a header, such as "X-API-Key"', name)
}

/** Returns `name` if it can be a dimension of a subject, else throws. */
export function assertDimensionName(option: string, name: unknown): string {
  // The adapter sets the route, never a client.
  if (typeof name === 'string' && /^(?!route$)[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(name)) return name
  throw invalidOption(
    option,
    'must name a dimension other than "route": 1 to 32 letters, digits, "_" or "-"',
    name,
  )
}
