/* One task of `sluice credits`: whose balance it is, and how its amounts are written. */
import { definitionOf, type Limiter } from '@sluice/core'
import { isInCalendar } from '@sluice/core/internal/operator'
import { subjectText, unitsText } from '@sluice/core/internal/text'
import { textOf, type Result, type Values } from '../command.ts'
import { refuse } from '../errors.ts'
import type { LoadedLimiter } from '../load-limiter.ts'
import { assertShared } from '../shared-store.ts'
import { subjectOf } from '../subject.ts'
import { dimensionOption, option } from '../wording.ts'

export interface CreditsTask {
  readonly limiter: Limiter
  readonly subject: Readonly<Record<string, string>>
  /** The policy, as functions of credits take it. */
  readonly choice: { readonly policy: string }
  readonly unit: string
  readonly values: Values
  /** The folder of the project. */
  readonly folder: string
}

/** An action of the command. */
export interface CreditsAction {
  /** The names of its operands, in their order, such as `AMOUNT`. */
  readonly operands: readonly string[]
  /** Of the options that not all actions have. */
  readonly takes: readonly string[]
  readonly run: (task: CreditsTask, operands: readonly string[]) => Promise<Result>
}

/** Returns the task that a command line names. @throws CommandError */
export function creditsTaskOf(
  values: Values,
  { limiter, file }: LoadedLimiter,
  folder: string,
): CreditsTask {
  const rules = definitionOf(limiter).rules.filter(({ algorithm }) => algorithm.traits?.balance)
  const names = rules.map(({ name }) => name).join(', ')
  const named = textOf(values, 'policy')
  if (rules.length === 0) refuse(`${file} has no policy of credits`)
  if (named === undefined && rules.length > 1) {
    refuse(
      `${file} has several policies of credits: ${names}. Name one: ${option('policy', rules[0]?.name)}`,
    )
  }
  const rule = named === undefined ? rules[0] : rules.find(({ name }) => name === named)
  if (!rule) return refuse(`${file} has no policy of credits of this name, but ${names}`)
  const subject = subjectOf(values) ?? {}
  const { per, name, unit } = rule
  const missing = per === 'global' ? undefined : per.find((one) => subject[one] === undefined)
  if (missing !== undefined) {
    refuse(`"${name}" is a balance of each ${String(per)}: add ${dimensionOption(missing, 'NAME')}`)
  }
  return { limiter, subject, choice: { policy: name }, unit, values, folder }
}

/** Returns an amount of a balance as a person reads it: `$1.50`, `-$1.50`, `20`. */
export const amountOf = (units: number, { unit }: Pick<CreditsTask, 'unit'>): string =>
  `${units < 0 ? '-' : ''}${unitsText(Math.abs(units), unit)}`

/** Returns the time that an option names, if it is given. A date alone begins in UTC. @throws CommandError */
export function timeOf(values: Values, name: string): Date | undefined {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  const [, date] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const time = new Date(text)
  if (date !== undefined && isInCalendar(date) && !Number.isNaN(time.getTime())) return time
  return refuse(
    `${option(name)} ${text} must be a date, such as 2026-12-31, or a time with a zone, such as 2026-12-31T18:00Z`,
  )
}

/** Returns the text of an option that an action needs. @throws CommandError */
export function neededOf({ values }: CreditsTask, name: string, example: string): string {
  return textOf(values, name) ?? refuse(`add ${option(name, example)}`)
}

/**
 * Makes a change that `--yes` confirms; without it, says what would be done.
 *
 * @param plan A sentence about the change.
 * @param make Makes it, and says what was done.
 * @throws CommandError When the store is the memory of this process.
 */
export async function confirmed(
  { values, limiter, subject }: CreditsTask,
  plan: string,
  make: () => Promise<{ readonly text: string; readonly json: object }>,
): Promise<Result> {
  if (values['yes'] !== true) {
    const text = `${plan}\nNothing is changed. Add ${option('yes', true)} to change it.`
    return { text, json: { subject, made: false } }
  }
  await assertShared(limiter)
  const { text, json } = await make()
  return { text: `${subjectText(subject)}: ${text}`, json: { subject, made: true, ...json } }
}
