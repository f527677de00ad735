import type { Cost } from '../cost.ts'
import type { FitRange } from './fit.ts'
import { InputError } from '../errors.ts'

/** One of several calls: the part of its subject that is its own, and its cost. */
export interface Choice<Unit extends string = string, Fit = FitRange<Unit> | undefined> {
  /** The dimensions that differ, such as `{ model: 'small' }`. They are laid over the subject of the call. */
  readonly subject: Readonly<Record<string, string>>
  /** The units that it asks for. @default 1 request */
  readonly cost?: Cost<Unit> | undefined
  /** A range of which to grant the most that fits, as in `reserve`: for all choices or none. @default none */
  readonly fit?: Fit
}

export const invalidChoices = (rule: string): InputError =>
  new InputError('invalid_choices', 'choices', rule)
