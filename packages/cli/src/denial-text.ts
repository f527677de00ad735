import type { RecordedDenial } from '@sluice/usage/denials'
import { amountText, durationText, unitsText } from '@sluice/core/internal/text'
import { subjectText } from './subject.ts'
import { timeText } from './until.ts'

/** Returns a denial that was recorded as a person reads it. */
export function denialText(tenant: string, denial: RecordedDenial): string {
  const { at, subject, plan, policies, retryAfterMs } = denial
  const denying = policies.filter(({ fits, enforced }) => enforced && !fits)
  const others = policies.filter((state) => !denying.includes(state))
  const used = (state: (typeof policies)[number]): string =>
    `${unitsText(state.burst - state.remaining, state.unit)} of ${amountText(state.burst, state.unit)} used`
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
