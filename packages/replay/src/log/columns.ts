import { optionError } from '../option-error.ts'

/** The names of columns that are understood without `columns`, in any case. */
const KNOWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  time: ['time', 'timestamp', 'ts', 'at', 'date', 'datetime', 'created_at', '@timestamp'],
  tenant: ['tenant', 'tenant_id', 'org', 'org_id', 'organization', 'customer', 'account'],
  user: ['user', 'user_id'],
  route: ['route', 'path', 'endpoint'],
  method: ['method', 'http_method'],
  model: ['model', 'model_name'],
  plan: ['plan', 'tier'],
  status: ['status', 'status_code'],
  input: [
    'input',
    'input_tokens',
    'prompt_tokens',
    'usage.prompt_tokens',
    'usage.input_tokens',
    'ContextTokens',
  ],
  output: [
    'output',
    'output_tokens',
    'completion_tokens',
    'usage.completion_tokens',
    'usage.output_tokens',
    'GeneratedTokens',
  ],
  tokens: ['tokens', 'total_tokens', 'usage.total_tokens'],
  cost: ['cost', 'cost_usd', 'usage.cost'],
}

/** The column of each field, dimension and unit that a log tells. */
export interface ColumnMap {
  /** The column of each of `time`, `tenant`, `input` … */
  readonly fields: Readonly<Record<string, string | undefined>>
  /** The columns of dimensions that your policies count by, by dimension. */
  readonly dimensions: readonly (readonly [dimension: string, column: string])[]
  /** The columns of units of your own, by unit. */
  readonly units: readonly (readonly [unit: string, column: string])[]
}

const UNIT = 'unit:'

/**
 * Finds the columns to read.
 *
 * @param names The names that the log has.
 * @param columns The names that you have given, by field; `unit:images` is a unit of your own, and any other
 * name is a dimension.
 * @throws ConfigError When a column does not exist, or no column is the time.
 */
export function mapColumns(
  names: readonly string[],
  columns: Readonly<Record<string, string>>,
): ColumnMap {
  const list = names.map((name) => `"${name}"`).join(', ')
  for (const [field, column] of Object.entries(columns)) {
    if (names.includes(column)) continue
    throw optionError('columns', `"${field}" is "${column}", but the log has: ${list}`)
  }
  const fields = Object.fromEntries(
    Object.entries(KNOWN_NAMES).map(([field, known]) => [
      field,
      columns[field] ?? findName(names, known),
    ]),
  )
  if (fields['time'] === undefined) {
    throw optionError('columns', `must name the time, such as "time=ts"; the log has: ${list}`)
  }
  const own = Object.entries(columns).filter(([field]) => !Object.hasOwn(KNOWN_NAMES, field))
  return {
    fields,
    dimensions: [...own.filter(([field]) => !field.startsWith(UNIT)), ...addressOf(names, columns)],
    units: own
      .filter(([field]) => field.startsWith(UNIT))
      .map(([field, column]) => [field.slice(UNIT.length), column]),
  }
}

/** The column `ip`, by which many policies count. */
const addressOf = (names: readonly string[], columns: object): [string, string][] =>
  names.includes('ip') && !Object.hasOwn(columns, 'ip') ? [['ip', 'ip']] : []

function findName(names: readonly string[], known: readonly string[]): string | undefined {
  for (const name of known) {
    const found = names.find((own) => own.toLowerCase() === name.toLowerCase())
    if (found !== undefined) return found
  }
  return undefined
}
