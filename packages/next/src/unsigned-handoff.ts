import type { Decision } from '@sluice/core'

const UNSIGNED = 'unsigned'

/**
 * Creates the hand-off of a middleware without a secret: the names of the policies that it has charged. It
 * proves nothing, and only helps to find that a wrapper charges them again.
 */
export function unsignedHandoff({ policies }: Decision): string {
  return [UNSIGNED, ...policies.map(({ name }) => name)].join(',')
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
    // A hand-off that a wrapper with a secret refuses may be forged, late or used up.
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
