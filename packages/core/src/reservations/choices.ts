import type { Choices } from '../limiter/call.ts'
import type { ResolvingChoices } from '../limiter/decide.ts'
import type { FitRange } from './fit.ts'
import { startChoosing } from './choose.ts'
import { invalidChoices, type Choice } from './choice.ts'

/** The most choices of one call. */
const MAX_CHOICES = 64

/**
 * Describes calls of which one decision charges the first that every policy has room for, it alone, in one round trip.
 * For `reserve`, `check` and `peek`: `decision.choice` is its position in the list, `decision.tried` says why those
 * before it were passed over. A denial is about the choice that fits soonest.
 *
 * @param list In the order of preference: 1 to 64, with at most 256 policies that take part in all.
 * @throws InputError `invalid_choices` when a choice is malformed, or names other dimensions than the first. When it is
 * decided: when no policy counts a choice, or when they have more than 256 policies in all.
 * @example
 * const call = await reserve(limiter, { tenant: 'acme' }, {
 *   choices: choices([
 *     { subject: { model: 'large' }, cost: { usd: usd(0.08) } },
 *     { subject: { model: 'small' }, cost: { usd: usd(0.01) } },
 *   ]),
 * })
 */
export function choices<
  const Unit extends string = never,
  Fit extends FitRange | undefined = undefined,
>(list: readonly Choice<Unit, Fit>[]): Choices<Unit, Fit> {
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_CHOICES) {
    throw invalidChoices(`must be a list of 1 to ${MAX_CHOICES} choices`)
  }
  const checked = Array.from(list as readonly Choice[], (choice, at) =>
    assertChoice(choice, at, list[0]),
  )
  const made: ResolvingChoices = {
    name: 'choices',
    start: (runtime, call) => startChoosing(runtime, call, checked),
  }
  return made
}

/** Returns a copy of a choice. @throws InputError When it is malformed, or does not go with the first. */
function assertChoice(choice: Choice, at: number, first: Choice | undefined): Choice {
  const isObject = typeof choice?.subject === 'object' && choice.subject !== null
  const unknown = Object.keys(choice ?? {}).find(
    (name) => !['subject', 'cost', 'fit'].includes(name),
  )
  if (!isObject || unknown !== undefined) {
    throw invalidChoices(`[${at}] must be { subject, cost, fit }`)
  }
  const names = Object.keys(choice.subject).toSorted().join()
  if (
    names === '' ||
    names !==
      Object.keys(first?.subject ?? {})
        .toSorted()
        .join()
  ) {
    throw invalidChoices(
      `[${at}].subject must name the same dimensions as that of the first choice, at least one`,
    )
  }
  for (const [name, value] of Object.entries(choice.subject)) {
    if (typeof value === 'string' && value !== '') continue
    throw invalidChoices(`[${at}].subject.${name} must be a text that is not empty`)
  }
  if ((choice.fit === undefined) !== (first?.fit === undefined)) {
    throw invalidChoices(
      'must all have a fit, or none; where only the whole fits, let floor and most be equal',
    )
  }
  return { ...choice, subject: { ...choice.subject } }
}

export type { Choice } from './choice.ts'
export type { Choices } from '../limiter/call.ts'
