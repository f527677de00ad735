import { invalidOption } from '@sluice/core/internal'

/** The names of columns that are understood without `columns`, in any case. */
const KNOWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  time: ['time', 'timestamp', 'ts', 'at', 'date', 'datetime', 'created_at', '@timestamp'],
  tenant: [
    'tenant',
    'tenant_id',
    'tenant.id',
    'tenantId',
    'org',
    'org_id',
    'organization',
    'customer',
    'account',
  ],
  user: ['user', 'user_id', 'user.id', 'userId', 'enduser.id'],
  route: [
    'route',
    'proxy.path',
    'path',
    'endpoint',
    'http.route',
    'url.path',
    'http.target',
    'req.url',
  ],
  method: [
    'method',
    'http_method',
    'http.request.method',
    'http.method',
    'req.method',
    'proxy.method',
  ],
  model: ['model', 'model_name', 'gen_ai.request.model', 'gen_ai.response.model'],
  plan: ['plan', 'tier'],
  status: [
    'status',
    'status_code',
    'statusCode',
    'http.response.status_code',
    'http.status_code',
    'res.statusCode',
    'proxy.statusCode',
  ],
  input: [
    'input',
    'input_tokens',
    'input_token',
    'prompt_tokens',
    'usage.prompt_tokens',
    'usage.input_tokens',
    'gen_ai.usage.input_tokens',
    'ContextTokens',
  ],
  output: [
    'output',
    'output_tokens',
    'output_token',
    'completion_tokens',
    'usage.completion_tokens',
    'usage.output_tokens',
    'gen_ai.usage.output_tokens',
    'GeneratedTokens',
  ],
  tokens: ['tokens', 'token', 'total_tokens', 'usage.total_tokens'],
  cost: ['cost', 'cost_usd', 'usd', 'total_cost', 'response_cost', 'usage.cost'],
}

/** The column of each field, dimension and unit that a log has. */
export interface ColumnMap {
  /** The column of each of `time`, `tenant`, `input` … */
  readonly fields: Readonly<Record<string, string | undefined>>
  /** The columns of dimensions that your policies count by, by dimension. */
  readonly dimensions: readonly (readonly [dimension: string, column: string])[]
  /** The columns of units of your own, by unit. */
  readonly units: readonly (readonly [unit: string, column: string])[]
  /** The column that only requests have, in a log that has other lines beside them. */
  readonly request: string | undefined
  /** The column of an id that all lines of one request share. */
  readonly requestId: string | undefined
  /** The column of the milliseconds that a request took, if its time is that of its end. */
  readonly durationMs: string | undefined
}

interface AppLog {
  readonly ip: string
  readonly id?: string
  readonly durationMs?: string
}

/** The logs of an app, which have lines beside those of requests, by the column that only requests have. */
const APP_LOGS: Readonly<Record<string, AppLog>> = {
  // pino-http
  'req.url': { ip: 'req.remoteAddress', durationMs: 'responseTime' },
  // https://vercel.com/docs/drains/reference/logs
  'proxy.path': { ip: 'proxy.clientIp', id: 'requestId' },
}

const UNIT = 'unit:'

/** The fields of units, which policies call by these names. */
const FIELDS_OF_UNITS: Readonly<Record<string, string>> = {
  usd: 'cost',
  token: 'tokens',
  input_token: 'input',
  output_token: 'output',
}

/**
 * Finds the columns to read.
 *
 * @param names The names that the log has.
 * @param given The names that you have given, by field; `unit:images` is a unit of your own, and any other
 * name is a dimension.
 * @throws ConfigError When a column does not exist, or no column is the time.
 */
export function mapColumns(
  names: readonly string[],
  given: Readonly<Record<string, string>>,
): ColumnMap {
  const columns = Object.fromEntries(
    Object.entries(given).map(([field, column]) => [FIELDS_OF_UNITS[field] ?? field, column]),
  )
  const list = listOf(names)
  for (const [field, column] of Object.entries(columns)) {
    if (names.includes(column)) continue
    throw invalidOption('columns', `"${field}" is "${column}", but the log has ${list}`)
  }
  // The column of a unit of your own, such as "cost" in credits, is no field.
  const units = new Set(
    Object.entries(columns).flatMap(([name, column]) => (name.startsWith(UNIT) ? [column] : [])),
  )
  const free = names.filter((name) => !units.has(name))
  const fields = Object.fromEntries(
    Object.entries(KNOWN_NAMES).map(([field, known]) => [
      field,
      columns[field] ?? findName(free, known),
    ]),
  )
  if (fields['time'] === undefined) {
    throw invalidOption('columns', `must name the time, such as "time=ts"; the log has ${list}`)
  }
  const request = names.find((name) => Object.hasOwn(APP_LOGS, name))
  const app = request === undefined ? undefined : APP_LOGS[request]
  const address = [app?.ip, 'ip'].find((name) => name !== undefined && names.includes(name))
  // As in access logs.
  if (app) fields['tenant'] ??= address
  const own = Object.entries(columns).filter(([field]) => !Object.hasOwn(KNOWN_NAMES, field))
  return {
    fields,
    dimensions: [
      ...own.filter(([field]) => !field.startsWith(UNIT)),
      ...(address === undefined || Object.hasOwn(columns, 'ip') ? [] : [['ip', address] as const]),
    ],
    units: own
      .filter(([field]) => field.startsWith(UNIT))
      .map(([field, column]) => [field.slice(UNIT.length), column]),
    request,
    requestId: names.find((name) => name === app?.id),
    durationMs: names.find((name) => name === app?.durationMs),
  }
}

/** Lists the columns of a log. A file without any usual name may be no log: its first line may be a secret. */
function listOf(names: readonly string[]): string {
  const isLog = Object.values(KNOWN_NAMES).some((known) => findName(names, known) !== undefined)
  if (!isLog) return 'no column with a usual name: is it a log?'
  return `these: ${names.map((name) => `"${name}"`).join(', ')}`
}

function findName(names: readonly string[], known: readonly string[]): string | undefined {
  for (const name of known) {
    const found = names.find((own) => own.toLowerCase() === name.toLowerCase())
    if (found !== undefined) return found
  }
  return undefined
}
