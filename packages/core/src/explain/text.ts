import { amountText, choiceTexts, durationText, unitsText, useText } from '../internal/text.ts'
import type { PolicyState } from '../decision.ts'
import type { Explanation, PolicyDenial } from './explain.ts'

/**
 * Returns an explanation as text, for operators: a line for each policy that denies, what would let the request pass, a
 * line for each choice that was passed over, and one for each other policy with its used part. It names limits, so do not send it to a client.
 *
 * @example
 * console.log(explanationText(await explain(limiter, { tenant: 'acme' })))
 */
export function explanationText(explanation: Explanation): string {
  const { decision } = explanation
  if (decision.degraded) {
    const end = decision.allowed ? 'Allowed' : 'Denied'
    return `${end} without the store, which failed (${decision.degraded.cause}). See onStoreError.`
  }
  const passedOver = choiceTexts(decision.tried).map((text) => `  ${text}`)
  return [...denialsText(explanation), ...passedOver, ...othersText(explanation)].join('\n')
}

function denialsText({ decision, denials, fittingCost }: Explanation): string[] {
  if (denials.length === 0) return ['Allowed.']
  const remedies = [
    waitText(denials, decision.retryAfterMs),
    costText(denials, fittingCost),
    raisesText(denials),
  ]
  return [
    ...denials.map(denialText),
    ...remedies.filter((text) => text !== undefined).map((text) => `  ${text}`),
  ]
}

const denialText = (denial: PolicyDenial): string => {
  const { policy, unit, used, most, cost } = denial
  return `Denied by ${policy}: ${useText({ ...denial, burst: most, remaining: most - used })}, and it asks for ${unitsText(cost, unit)}.`
}

function othersText({ decision, denials }: Explanation): string[] {
  const names = new Set(denials.map(({ policy }) => policy))
  const others = decision.policies.filter(({ name }) => !names.has(name))
  const lacking = decision.skipped.filter(({ why }) => why === 'missing_dimension')
  return [
    ...others.map((state) => `  ${stateText(state)}`),
    ...lacking.map(
      ({ name }) => `  ${name}: takes no part, because the subject lacks a dimension of its per`,
    ),
  ]
}

const stateText = (state: PolicyState): string =>
  `${state.name}: ${useText(state)}${state.enforced ? '' : ', in shadow'}`

function waitText(denials: readonly PolicyDenial[], retryAfterMs: number | null): string {
  if (retryAfterMs === null) return neverText(denials)
  const held = denials.filter(({ reason }) => reason === 'concurrency_exceeded')
  if (held.some(({ unit }) => unit !== 'call')) {
    return 'It may fit when a call in flight returns what it does not use.'
  }
  if (held.length > 0) return 'It fits when a call in flight has ended.'
  return `It fits in ${durationText(retryAfterMs)} if nothing else is charged.`
}

/** Returns the remedy where no wait helps. A debt is paid first, so a balance may need more than the call lacks. */
function neverText(denials: readonly PolicyDenial[]): string {
  const [denial, ...others] = denials.filter((each) => each.retryAfterMs === null)
  if (!denial || others.length > 0 || denial.reason !== 'credits_exhausted') {
    return 'It never fits: it asks for more than the limit.'
  }
  const { policy, unit, used, most, cost } = denial
  return `It fits after a top-up of at least ${amountText(cost - (most - used), unit)} for ${policy}.`
}

function costText(
  denials: readonly PolicyDenial[],
  cost: Explanation['fittingCost'],
): string | undefined {
  if (!cost) return undefined
  const less = denials
    .map(({ unit, cost: asked }) => ({ unit, left: asked - (cost[unit] ?? 0) }))
    .filter(({ left }) => left > 0)
  const texts = new Set(less.map(({ unit, left }) => `${amountText(left, unit)} less`))
  return texts.size === 0 ? undefined : `It fits now with ${[...texts].join(' and ')}.`
}

function raisesText(denials: readonly PolicyDenial[]): string | undefined {
  if (denials.some(({ raise }) => raise === undefined)) return undefined
  const texts = denials.map(
    ({ policy, unit, raise }) =>
      `a ${raise?.setting} of ${unitsText(raise?.to ?? 0, unit)} for ${policy}`,
  )
  return `It fits now with ${texts.join(' and ')}.`
}
