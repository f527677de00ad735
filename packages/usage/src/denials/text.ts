import {
  choiceTexts,
  durationText,
  nameText,
  subjectText,
  timeText,
  unitsText,
  useText,
} from '@sluice/core/internal/text'
import type { DeniedPolicy, RecordedDenial } from './denial.ts'

/**
 * Returns a denial that `readDenial` has read as text, for operators. It names limits, so do not send it to a client.
 *
 * @param id The id that was looked up, for the text that says that none is recorded.
 * @param by The dimension that names the tenant. @default 'tenant'
 * @example
 * console.log(denialText('acme', id, await readDenial(limiter, 'acme', id)))
 */
export function denialText(
  tenant: string,
  id: string,
  denial: RecordedDenial | undefined,
  by = 'tenant',
): string {
  if (!denial) {
    return `${nameText(tenant)} has no recorded denial with the id ${nameText(id)}: it may be older than a day, not saved yet, or one of more than are kept`
  }
  const { at, subject, plan, policies, tried } = denial
  const denying = policies.filter(isDenying)
  const others = policies.filter((state) => !denying.includes(state))
  return [
    `${timeText(at)} ${subjectText({ [by]: tenant, ...subject, ...(plan !== undefined && { plan }) })}`,
    ...(policies.length === 0 ? ['Denied without the store, which failed. See onStoreError.'] : []),
    ...denying.map(
      (state) =>
        `Denied by ${stateText(state)}, and it asked for ${unitsText(state.cost, state.unit)}.`,
    ),
    ...(denying.length === 0 ? [] : [`  ${laterText(denial)}`]),
    ...choiceTexts(tried, true).map((text) => `  ${text}`),
    ...others.map((state) => `  ${stateText(state)}${state.enforced ? '' : ', in shadow'}`),
  ].join('\n')
}

/**
 * Returns which limit has denied a request, how full it was and what was asked for, in a few words, for operators.
 *
 * @example
 * for (const denial of await listDenials(limiter, 'acme')) console.log(denial.id, denyingText(denial))
 */
export function denyingText({ policies, reason }: RecordedDenial): string {
  const state = policies.find(isDenying)
  if (!state) return reason
  const { name, unit, cost } = state
  // A line of a list is short: the whole denial has the end of its period.
  return `${name}: ${useText({ ...state, resetsAt: undefined })}, ${unitsText(cost, unit)} asked for`
}

const isDenying = ({ fits, enforced }: DeniedPolicy): boolean => enforced && !fits

const stateText = (state: DeniedPolicy): string => `${state.name}: ${useText(state)}`

function laterText({ reason, retryAfterMs }: RecordedDenial): string {
  if (retryAfterMs === null && reason === 'credits_exhausted') {
    return 'It would have fitted after a top-up.'
  }
  if (retryAfterMs === null) return 'It could never fit: it asked for more than the limit.'
  if (reason === 'concurrency_exceeded') return 'Calls in flight held units at that time.'
  return `It would have fitted ${durationText(retryAfterMs)} later, if nothing else was charged.`
}
