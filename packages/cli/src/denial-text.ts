import type { DeniedPolicy, RecordedDenial } from '@sluice/usage/denials'
import { amountText, durationText, unitsText } from '@sluice/core/internal/text'
import { subjectText } from './subject.ts'
import { timeText } from './until.ts'

const isDenying = ({ fits, enforced }: DeniedPolicy): boolean => enforced && !fits

/** Returns the first policy that has denied a request. */
export const deniedBy = ({ policies }: RecordedDenial): DeniedPolicy | undefined =>
  policies.find(isDenying)

/** Returns how full its limit was, and what the request asked for. */
export function useText(denial: RecordedDenial): string {
  const state = deniedBy(denial)
  return state ? `${used(state)}, and ${unitsText(state.cost, state.unit)} asked for` : '-'
}

const used = (state: DeniedPolicy): string =>
  `${unitsText(state.burst - state.remaining, state.unit)} of ${amountText(state.burst, state.unit)} used`

/** Returns a denial that was recorded as a person reads it. */
export function denialText(tenant: string, denial: RecordedDenial): string {
  const { at, subject, plan, policies, retryAfterMs } = denial
  const denying = policies.filter(isDenying)
  const others = policies.filter((state) => !denying.includes(state))
  return [
    `${timeText(at)} ${subjectText({ tenant, ...subject, ...(plan !== undefined && { plan }) })}`,
    ...(policies.length === 0 ? ['Denied without the store, which failed. See onStoreError.'] : []),
    ...denying.map(
      (state) =>
        `Denied by ${state.name}: ${used(state)}, and it asked for ${unitsText(state.cost, state.unit)}.`,
    ),
    ...(denying.length === 0 ? [] : [`  ${laterText(retryAfterMs)}`]),
    ...others.map(
      (state) => `  ${state.name}: ${used(state)}${state.enforced ? '' : ', in shadow'}`,
    ),
  ].join('\n')
}

const laterText = (retryAfterMs: number | null): string =>
  retryAfterMs === null
    ? 'It could never fit: it asked for more than the limit.'
    : `It would have fitted ${durationText(retryAfterMs)} later, if nothing else was charged.`
