import type { CounterValues } from '../counters/read-counters.ts'
import { parseValues } from '../counters/counter.ts'
import { QUARTER_MS, QUARTERS } from '../hours.ts'
import {
  OTHER,
  UNKNOWN,
  type ChoiceRow,
  type Outcome,
  type PolicyUsageRow,
  type UsageRow,
} from '../rows.ts'

/** The rows of one hour or day. */
export interface PeriodRows {
  readonly rows: UsageRow[]
  /** The rows of each quarter of an hour. Those of a day mean nothing. */
  readonly quarters: UsageRow[]
  readonly policies: PolicyUsageRow[]
  readonly choices: ChoiceRow[]
}

const OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ['a', 'allowed'],
  ['d', 'denied'],
  ['x', 'unavailable'],
])

/**
 * Turns the cells of one hour or day into rows. Cells that a later version has written are skipped, and so are
 * corrections without their request: it was forgotten meanwhile, or is not saved yet.
 */
export function rowsOf(
  cells: CounterValues,
  start: number,
  dimensions: readonly string[],
): PeriodRows {
  const found: PeriodRows = { rows: [], quarters: [], policies: [], choices: [] }
  const unpaired = unpairedEstimates(cells)
  for (const [name, text] of cells) {
    const [family = '', parts] = [name[0], name.slice(1)]
    const values = parseValues(text)
    const outcome = OUTCOMES.get(family)
    if (outcome) {
      const own = parseValues(cells.get(`e${parts}`) ?? '').slice(1)
      const rowOf = rowMaker(parts, outcome, dimensions)
      const estimate = parts === '' ? addValues(unpaired, own) : own
      found.rows.push(
        rowOf(start, [values[0] ?? 0, ...(outcome === 'denied' ? estimate : values.slice(1))]),
      )
      found.quarters.push(...quarterRows(start, values, rowOf))
    }
    if (family === 'p') found.policies.push(policyRow(start, parts, values))
    if (family === 'c') found.choices.push(choiceRow(start, parts, values))
  }
  return {
    rows: found.rows.filter(isComplete),
    quarters: found.quarters,
    policies: found.policies.filter(isWhole),
    choices: found.choices,
  }
}

/** Returns the sum of the estimates whose denials are counted in the rest of their family. */
function unpairedEstimates(cells: CounterValues): readonly number[] {
  const unpaired = [...cells].filter(
    ([name]) => name.startsWith('e') && name !== 'e' && !cells.has(`d${name.slice(1)}`),
  )
  const estimates = unpaired.map(([, text]) => parseValues(text).slice(1))
  return estimates.reduce<readonly number[]>(addValues, [0, 0])
}

const addValues = (a: readonly number[], b: readonly number[]): readonly number[] =>
  a.map((value, index) => value + (b[index] ?? 0))

/** Returns true unless a row of requests that are known has corrections only. */
const isComplete = ({ tenant, route, model, requests }: UsageRow): boolean =>
  requests > 0 || tenant === OTHER || [tenant, route, model].includes(UNKNOWN)

/** Returns true unless a policy's row has corrections only. A balance is corrected in the hour of its settlement. */
const isWhole = ({ tenant, route, counting, requests }: PolicyUsageRow): boolean =>
  requests > 0 ||
  tenant === OTHER ||
  [tenant, route].includes(UNKNOWN) ||
  counting?.startsWith('credits:') === true

type Names = Readonly<Record<string, string>>
type MakeRow = (start: number, values: readonly number[]) => UsageRow

/** Returns a function that makes the rows of a cell. */
function rowMaker(parts: string, outcome: Outcome, dimensions: readonly string[]): MakeRow {
  const names = parseParts(parts) as string[]
  const [tenant = OTHER, route = OTHER, model = OTHER, plan = OTHER, ...others] = names
  const valueOf = (name: string): string =>
    others.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  const values = dimensions.map((name) => [name, parts === '' ? OTHER : valueOf(name)])
  const own = values.length > 0 && { dimensions: Object.fromEntries(values) as Names }
  return (start, [requests = 0, tokens = 0, usd = 0]) => ({
    start,
    tenant,
    route,
    model,
    plan,
    ...own,
    outcome,
    requests,
    tokens,
    usd,
  })
}

/** Returns the rows of quarters in which something was used. A cell has the values of its hour, then theirs. */
function quarterRows(start: number, values: readonly number[], rowOf: MakeRow): UsageRow[] {
  const width = values.length / (QUARTERS + 1)
  // An earlier version has written none.
  if (!Number.isInteger(width)) return []
  return Array.from({ length: QUARTERS }, (_, quarter) =>
    rowOf(start + quarter * QUARTER_MS, values.slice((quarter + 1) * width, (quarter + 2) * width)),
  ).filter(({ requests }) => requests > 0)
}

function policyRow(start: number, parts: string, values: readonly number[]): PolicyUsageRow {
  const names = parseParts(parts) as string[]
  const [tenant = OTHER, route = OTHER, policy = OTHER, per = OTHER, unit = OTHER] = names
  const [limit = 0, windowMs = 0] = parseParts(parts).slice(5) as number[]
  const counting = parseParts(parts)[7] as string | undefined
  const [requests = 0, units = 0, denied = 0, ...shadow] = values
  const [shadowRequests = 0, shadowDenied = 0, shadowTokens = 0, shadowUsd = 0] = shadow
  const budget = { tenant, route, policy, per, unit, limit, windowMs }
  const inShadow = { shadowRequests, shadowDenied, shadowTokens, shadowUsd }
  // An earlier version has written no `counting`.
  const counted = counting === undefined ? {} : { counting }
  return { start, ...budget, ...counted, requests, units, denied, ...inShadow }
}

function choiceRow(start: number, parts: string, [requests = 0]: readonly number[]): ChoiceRow {
  const names = parseParts(parts) as string[]
  const [tenant = OTHER, route = OTHER, asked = OTHER, model = OTHER, policy = OTHER] = names
  return { start, tenant, route, asked, model, policy, requests }
}

/** The parts of a cell's name. The rest of a family has none. */
const parseParts = (parts: string): readonly (string | number)[] =>
  parts === '' ? [] : (JSON.parse(parts) as (string | number)[])
