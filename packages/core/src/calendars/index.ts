export { calendar, calendarAlgorithm } from './calendar.ts'
export type { CalendarOptions, OfSubject, SubjectValues } from './options.ts'
export type { Anchor, PeriodStart } from './stroke.ts'
export type { Calendar, Every } from '../policies/resets.ts'
