import { readCounters } from '../../counters/read-counters.ts'
import { dayOf, PERIOD_MS, periodKey } from '../../hours.ts'
import type { UsageHandle } from '../../recording/record-usage.ts'
import type { LocalPeriod, Undivided, Usage } from '../../rows.ts'
import { rowsOf, type PeriodRows } from '../parse-cells.ts'
import { readStored, storedRange, type Time } from '../read-stored.ts'
import { byTimeAndNames, renaming, select } from '../select-rows.ts'
import { LocalCalendar, type CalendarOptions } from './local-calendar.ts'
import { PeriodSums, type Row, type RowSums } from './period-sums.ts'
import { isInOne, piecesOf, type Piece } from './pieces.ts'

/** The options of `usage`, with the periods that are read by default. */
interface Options extends CalendarOptions {
  readonly from?: Time
  readonly to?: Time
  readonly tenants?: readonly string[]
  readonly count: number
}

/** The most days that are read in one call, if none of them needs its hours. */
const DAYS_PER_CALL = 31

const HOURS_PER_DAY = 24

/** Reads usage by the periods of a calendar. @throws StoreError When the store fails. */
export async function usageInCalendar(handle: UsageHandle, options: Options): Promise<Usage> {
  const { by, count, tenants } = options
  const calendar = new LocalCalendar(options)
  const now = handle.clock()
  const first = options.from === undefined ? undefined : calendar.timeOf('usage.from', options.from)
  const end = options.to === undefined ? now + 1 : calendar.timeOf('usage.to', options.to)
  if (by === 'hour') {
    const { from, to } = storedRange(by, first, end, count)
    const facts = { ...calendar.factsOf(from, to), periods: [], undivided: [] }
    await handle.flush()
    const used = await readStored(handle, { by, from, to, tenants })
    return { ...localized(used, calendar), calendar: facts }
  }
  const periods = calendar.periodsBetween(first, end, count)
  await handle.flush()
  const { undivided, ...rows } = await readPeriods(handle, periods, tenants)
  const [from, to] = [periods[0]?.start ?? end, periods.at(-1)?.end ?? end]
  const facts = { ...calendar.factsOf(from, to), periods, undivided }
  return { by, from, to, ...rows, calendar: facts }
}

/** Adds the local time of each row. */
function localized(used: Usage, calendar: LocalCalendar): Usage {
  const local = <Each extends { readonly start: number }>(rows: readonly Each[]): Each[] =>
    rows.map((row) => ({ ...row, startsAt: calendar.textOf(row.start) }))
  const { rows, quarters = [], policies, choices } = used
  return {
    ...used,
    rows: local(rows),
    quarters: local(quarters),
    policies: local(policies),
    ...(choices && { choices: local(choices) }),
  }
}

/** Reads all days that periods lie in, and adds up each of them, or its pieces, in the period that most of it lies in. */
async function readPeriods(
  handle: UsageHandle,
  periods: readonly LocalPeriod[],
  tenants: readonly string[] | undefined,
): Promise<Pick<Usage, 'rows' | 'policies' | 'choices'> & { undivided: Undivided[] }> {
  const ids = tenants && (await renaming(tenants, handle.tenants))
  const all = periods.map((period) => ({ period, sums: new PeriodSums() }))
  const undivided: Undivided[] = []
  let passed = 0
  for await (const pieces of daysOf(handle, periods)) {
    for (const piece of pieces) {
      const { start, ms } = piece
      while ((periods[passed]?.end ?? Infinity) <= start) passed += 1
      const middle = start + ms / 2
      const near = all.slice(passed, passed + 3)
      const own = near.find(({ period }) => period.start <= middle && middle < period.end)
      const rows = selected(piece, ids)
      own?.sums.add(rows)
      const shiftedMs = shiftOf(piece, own?.period, near)
      const { undivided: by } = piece
      if (by && shiftedMs > 0 && !isEmpty(rows)) undivided.push({ start, by, shiftedMs })
    }
  }
  const sorted = <R extends Row>(sumsIn: (sums: PeriodSums) => RowSums<R>): R[] =>
    all
      .flatMap(({ period: { start, startsAt }, sums }) =>
        sumsIn(sums).startingAt({ start, startsAt }),
      )
      .toSorted(byTimeAndNames)
  const choices = sorted((sums) => sums.choices)
  return {
    rows: sorted(({ rows }) => rows),
    policies: sorted(({ policies }) => policies),
    ...(choices.length > 0 && { choices }),
    undivided,
  }
}

const selected = (
  { rows: { rows, policies, choices } }: Piece,
  ids: ReadonlyMap<string, string> | undefined,
): Piece['rows'] => ({
  rows: select(rows, ids),
  policies: select(policies, ids),
  choices: select(choices, ids),
})

const isEmpty = ({ rows, policies, choices }: Piece['rows']): boolean =>
  rows.length + policies.length + choices.length === 0

/** Returns the time of a piece that lies in other periods than its own; one before or after all is no own. */
function shiftOf(
  { start, ms }: Piece,
  own: LocalPeriod | undefined,
  near: readonly { readonly period: LocalPeriod }[],
): number {
  const overlap = (period: LocalPeriod): number =>
    Math.max(0, Math.min(period.end, start + ms) - Math.max(period.start, start))
  if (own) return ms - overlap(own)
  return near.reduce((sum, { period }) => sum + overlap(period), 0)
}

/** Yields the pieces of days (UTC), in order. A day in one period is one piece, and is read without its hours. */
async function* daysOf(
  { records, clock, dimensions, keptMs }: UsageHandle,
  periods: readonly LocalPeriod[],
): AsyncGenerator<readonly Piece[]> {
  const now = clock()
  const to = periods.at(-1)?.end ?? 0
  const read = async (
    starts: readonly number[],
    hours: readonly number[],
  ): Promise<PeriodRows[]> => {
    const keys = starts.map((start) => periodKey('day', start))
    // The day first: what is counted meanwhile is then in its hours.
    keys.push(...hours.map((start) => periodKey('hour', start)))
    const all = [...starts, ...hours]
    const cells = await readCounters(records, keys, now)
    return cells.map((one, index) => rowsOf(one, all[index] ?? 0, dimensions))
  }
  let waiting: number[] = []
  const whole = async (): Promise<Piece[]> => {
    const days = waiting
    waiting = []
    const rows = days.length > 0 ? await read(days, []) : []
    return days.map((start, index) => wholeDay(start, rows[index], periods))
  }
  for (let day = dayOf(periods[0]?.start ?? 0); day < to; day += PERIOD_MS.day) {
    const isKept = day + PERIOD_MS.day + keptMs.hour > now
    if (!isKept || isInOne(periods, day, PERIOD_MS.day)) {
      if (waiting.push(day) >= DAYS_PER_CALL) yield await whole()
      continue
    }
    yield await whole()
    const starts = Array.from({ length: HOURS_PER_DAY }, (_, hour) => day + hour * PERIOD_MS.hour)
    const [rows = NONE, ...hours] = await read([day], starts)
    yield piecesOf(rows, day, hours, periods)
  }
  yield await whole()
}

const NONE: PeriodRows = { rows: [], quarters: [], policies: [], choices: [] }

const wholeDay = (
  start: number,
  rows: PeriodRows = NONE,
  periods: readonly LocalPeriod[],
): Piece => ({
  start,
  ms: PERIOD_MS.day,
  rows,
  ...(!isInOne(periods, start, PERIOD_MS.day) && { undivided: 'day' as const }),
})
