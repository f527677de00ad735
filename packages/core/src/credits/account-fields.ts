/* The fields of an account in the hash of its key, as Redis has them. */
import {
  ACCOUNT,
  ENTRY,
  HOLD,
  SUMS,
  type CreditState,
  type Hold,
  type Part,
  type Sums,
} from '../algorithms/credit-state.ts'

/** The fields of an account, by name. */
export type AccountFields = Readonly<Record<string, string>>

/** Returns the account that these fields are of, or `undefined` if they are of none. */
export function accountOf(fields: AccountFields): CreditState | undefined {
  const match = /^([^|]*)\|([^|]*)\|([^|]*)$/.exec(fields[ACCOUNT] ?? '')
  if (!match) return undefined
  const numbers = (match[1] as string).split(' ').map(Number)
  const sums = Object.fromEntries(SUMS.map((name, index) => [name, numbers[index] ?? 0])) as Sums
  const holds: Record<string, Hold> = {}
  const entries: string[] = []
  for (const [name, text] of Object.entries(fields)) {
    if (name.startsWith(HOLD)) holds[name.slice(HOLD.length)] = holdOf(text)
    else if (name.startsWith(ENTRY)) entries.push(text)
  }
  const lots = partsOf(match[2] as string).map(([name, left]) => ({ name, left }))
  const journal = entries.toSorted((a, b) => numberOf(a) - numberOf(b))
  return { sums, lots, spent: partsOf(match[3] as string), holds, journal }
}

/** Returns the number of an entry of the journal. */
const numberOf = (entry: string): number => Number.parseInt(entry, 10)

function holdOf(text: string): Hold {
  const [id = '', units, due, parts = ''] = text.split(' ')
  return { id, units: Number(units), due: Number(due), parts: partsOf(parts) }
}

function partsOf(text: string): Part[] {
  if (text === '') return []
  return text.split(',').map((part): Part => {
    const [lot = '', units] = part.split('=')
    return [lot, Number(units)]
  })
}

/** Returns the fields of an account, as Redis has them. */
export function fieldsOf({ sums, lots, spent, holds, journal }: CreditState): AccountFields {
  const numbers = SUMS.map((name) => sums[name]).join(' ')
  const lotTexts = textOf(lots.map(({ name, left }) => [name, left]))
  const fields: Record<string, string> = { [ACCOUNT]: `${numbers}|${lotTexts}|${textOf(spent)}` }
  for (const [position, { id, units, due, parts }] of Object.entries(holds)) {
    fields[HOLD + position] = `${id} ${units} ${due} ${textOf(parts)}`
  }
  for (const entry of journal) fields[ENTRY + numberOf(entry)] = entry
  return fields
}

const textOf = (parts: readonly Part[]): string =>
  parts.map(([lot, units]) => `${lot}=${units}`).join()
