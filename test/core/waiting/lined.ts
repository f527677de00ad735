import { BALANCES, KIND_NAMES, type Kind } from '../../support/kinds.ts'

/** Ways to count that cannot have a line. */
export const UNLINED: readonly Kind[] = [
  'sliding windows',
  'session window',
  'session of a length with pauses',
  'leaky bucket that waits',
  'fair shares',
  'calls in flight',
  'waiting line',
  ...BALANCES,
]

/** Ways to count that can have one. */
export const LINED = KIND_NAMES.filter((kind) => !UNLINED.includes(kind))
