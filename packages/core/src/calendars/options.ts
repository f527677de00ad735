import type { Every } from '../policies/resets.ts'
import type { Anchor, PeriodStart } from './stroke.ts'

/** A value, or a function of the subject, such as of a claim of its token. A function may return nothing: the default. */
export type OfSubject<T> = T | ((subject: SubjectValues) => T | undefined)

/** The values of a subject, by dimension. */
export type SubjectValues = Readonly<Record<string, string | undefined>>

/** Options of `calendar`. */
export interface CalendarOptions {
  /** The period. Left out for `dailyCap`, `monthlyCap` and `budget`, whose names say it. */
  readonly every?: Every
  /** The time zone, by its name in the IANA database, such as `'Europe/Berlin'`. @default 'UTC' */
  readonly zone?: OfSubject<string>
  /** The local time at which periods begin. @default midnight: of Monday, of the first of the month, of January 1st */
  readonly on?: OfSubject<PeriodStart>
  /** A date whose day and hour return in each period, instead of `on`. @default `on` */
  readonly anchor?: OfSubject<Anchor>
}
