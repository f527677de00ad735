import type { Decision } from '@sluice/core'
import { HANDOFF_HEADER } from '@sluice/core/internal/http'

const UNSIGNED = 'unsigned'

/** The least time between two unsigned hand-offs, in milliseconds. */
const UNSIGNED_EVERY_MS = 1_000

/**
 * Returns a function that creates the hand-offs of a middleware without a secret: the names of the policies that it
 * has charged. They prove nothing, and only help to find that a wrapper charges them again. So at most one request a
 * second has one.
 */
export function unsignedHandoffs(): (decision: Decision) => string | undefined {
  let lastAt = -Infinity
  return ({ policies }) => {
    const now = Date.now()
    // A clock may be set back.
    if (now >= lastAt && now - lastAt < UNSIGNED_EVERY_MS) return undefined
    lastAt = now
    return [UNSIGNED, ...policies.map(({ name }) => name)].join(',')
  }
}

/** Returns a function that reports, once, that middleware and wrapper charge the same request. */
export function doubleChargeReporter(
  route: string,
  hasSecret: boolean,
): (handoff: string | null, decision: Decision) => void {
  let isReported = false
  return (handoff, { policies }) => {
    if (handoff === null || isReported) return
    const [kind, ...names] = handoff.split(',')
    const isUnsigned = kind === UNSIGNED
    // A wrapper with a secret refuses late and used ones, too. `mismatchReporter` reports the others.
    if (hasSecret && !isUnsigned) return
    const charged = policies.filter(({ name }) => !isUnsigned || names.includes(name))
    if (charged.length === 0) return
    isReported = true
    console.error(
      `Sluice: withRateLimit charges the route "${route}" a second time, after the middleware: ` +
        `${charged.map(({ name }) => name).join(', ')}. ` +
        `Set the same "secret" in rateLimit and in withRateLimit: it is missing in ${isUnsigned ? 'rateLimit' : 'withRateLimit'}.`,
    )
  }
}

/** Returns a function that reports, once, that the signature of a hand-off does not fit. */
export function mismatchReporter(route: string): () => void {
  let isReported = false
  return () => {
    // Once, because a client that forges hand-offs could fill the log.
    if (isReported) return
    isReported = true
    console.error(
      `Sluice: withRateLimit of the route "${route}" charges a request in spite of its hand-off, because the ` +
        'signature does not fit. Set the same "secret" in rateLimit and in withRateLimit, the same route id, ' +
        'and the same "subject". If they are the same, either the handler sees another path than the ' +
        `middleware, or a client forged the header ${HANDOFF_HEADER}: it is charged all the same.`,
    )
  }
}
