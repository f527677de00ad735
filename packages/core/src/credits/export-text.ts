/* A balance as text: its account, its journal and the ids of its grants. */
import { ACCOUNT, ENTRY, HOLD, SUMS, type CreditState } from '../algorithms/credit-state.ts'
import { InputError } from '../errors.ts'
import { parseJson } from '../internal/attempt.ts'
import { accountOf, fieldsOf, type AccountFields } from './account-fields.ts'

/** An export, as JSON has it. */
export interface CreditsExport {
  readonly format: 'sluice-credits-1'
  /** The key of the balance, without the prefix of its store. */
  readonly key: string
  readonly unit: string
  /** The time of the export, in epoch ms. */
  readonly at: number
  readonly account: AccountFields
  /** The ids of grants and corrections. */
  readonly ids: AccountFields
}

/** An export that was read. */
export interface ReadExport extends CreditsExport {
  readonly state: CreditState
}

/**
 * Reads the text of an export.
 *
 * @throws InputError When it is not what `exportCredits` writes.
 */
export function parseExport(text: string): ReadExport {
  const parsed = parseJson(text) as Partial<CreditsExport> | undefined
  if (parsed?.format !== 'sluice-credits-1') throw invalid('must be a text of exportCredits')
  const { key, unit, at, account, ids } = parsed
  const isWhole = typeof key === 'string' && typeof unit === 'string' && Number.isSafeInteger(at)
  if (!isWhole || !isFields(account) || !isFields(ids)) throw invalid('is not complete')
  const state = stateOf(account)
  const strayId = Object.entries(ids).find(([id, one]) => !ID.test(id) || !KNOWN.test(one))
  if (!state || strayId) throw invalid('has a field that no account has')
  return { ...(parsed as CreditsExport), state }
}

/** Returns the text of an export. */
export const textOfExport = (content: CreditsExport): string => JSON.stringify(content, null, 1)

const LOT = String.raw`\d+:\d+:\d+:(?:paid|promotional)`
const partsOf = (lot: string): string => `(?:${lot}=\\d+(?:,${lot}=\\d+)*)?`
const PARTS = partsOf(String.raw`(?:${LOT}|included:\d+)`)
const ID = /^[\x21-\x7e]{1,128}$/
/** An id that was used: see `change.ts`. */
const KNOWN = new RegExp(`^\\d+ (?:granted|adjusted) -?\\d+ -?\\d+ \\d+ ${LOT}$`)

/** The form of each field of an account, by the start of its name. */
const FIELDS: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [
    new RegExp(`^${ACCOUNT}$`),
    new RegExp(`^(?:-?\\d+ ){${SUMS.length - 1}}-?\\d+\\|${partsOf(LOT)}\\|${PARTS}$`),
  ],
  [new RegExp(`^${HOLD}\\d+$`), new RegExp(`^[\\x21-\\x7e]+ \\d+ \\d+ ${PARTS}$`)],
  [
    new RegExp(`^${ENTRY}\\d+$`),
    new RegExp(`^\\d+ \\d+ [a-z]+ -?\\d+ (?:-|${LOT}|included:\\d+) -?\\d+ (?:\\{[^]*\\})?$`),
  ],
]

/** Returns the account of fields, if a store could have written each of them. */
function stateOf(fields: AccountFields): CreditState | undefined {
  const isKnown = Object.entries(fields).every(([name, text]) =>
    FIELDS.some(([names, values]) => names.test(name) && values.test(text)),
  )
  const state = isKnown ? accountOf(fields) : undefined
  if (!state) return undefined
  const written = Object.entries(fieldsOf(state))
  const isSame =
    written.length === Object.keys(fields).length &&
    written.every(([name, text]) => fields[name] === text)
  return isSame && Object.values(state.sums).every(Number.isSafeInteger) ? state : undefined
}

const isFields = (value: unknown): value is AccountFields =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((text) => typeof text === 'string')

const invalid = (reason: string): InputError => new InputError('invalid_export', 'text', reason)
