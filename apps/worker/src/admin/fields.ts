import { AdminRefusal } from './refusal.ts'

/** The part of JSON Schema that the OpenAPI document has. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

/** The fields of a body or a query, by name. */
export type Fields = Readonly<Record<string, Schema & { readonly isRequired?: true }>>

export type Values = Readonly<Record<string, unknown>>

/** The largest body, in bytes. */
const MAX_BYTES = 16_384

const MAX_TEXT = 256

export const text = (description: string): Schema => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength: MAX_TEXT,
})

const invalid = (message: string): AdminRefusal => new AdminRefusal(400, 'invalid_request', message)

/** Reads a query: each name once, and none that an address does not have. @throws AdminRefusal */
export function readQuery(url: URL, fields: Fields = {}): Readonly<Record<string, string>> {
  const given = [...url.searchParams]
  const [twice] = given.find(([name], at) => given.findIndex(([one]) => one === name) < at) ?? []
  if (twice !== undefined) throw invalid(`${JSON.stringify(twice)} is given twice.`)
  return checked(Object.fromEntries(given), fields, 'parameter') as Record<string, string>
}

/** Reads a JSON body. @throws AdminRefusal When it is too large, no JSON, or has other fields. */
export async function readBody(
  request: Request,
  fields: Fields | undefined,
): Promise<{ readonly raw: string; readonly values: Values }> {
  const raw = await rawBody(request)
  if (fields === undefined) {
    if (raw !== '') throw invalid('This address takes no body.')
    return { raw, values: {} }
  }
  if (raw === '') return { raw, values: checked({}, fields, 'field') }
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new AdminRefusal(415, 'unsupported_media_type', 'Send JSON, as application/json.')
  }
  return { raw, values: checked(parsed(raw), fields, 'field') }
}

async function rawBody(request: Request): Promise<string> {
  const tooLarge = new AdminRefusal(
    413,
    'body_too_large',
    `The body must be at most ${MAX_BYTES} bytes.`,
  )
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BYTES) throw tooLarge
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let [bytes, body] = [0, '']
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) throw tooLarge
    body += decode(() => decoder.decode(chunk, { stream: true }))
  }
  return body + decode(() => decoder.decode())
}

function decode(run: () => string): string {
  try {
    return run()
  } catch {
    throw invalid('The body must be UTF-8.')
  }
}

function parsed(raw: string): Values {
  let value: unknown
  try {
    value = JSON.parse(raw)
  } catch {
    throw invalid('The body must be JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values
  throw invalid('The body must be a JSON object.')
}

/** Returns values that have the fields of an address, and no others. */
function checked(values: Values, fields: Fields, kind: string): Values {
  const names = Object.keys(fields)
  const unknown = Object.keys(values).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const rule = names.length === 0 ? 'there are none' : `there are ${names.join(', ')}`
    throw invalid(`There is no ${kind} ${JSON.stringify(unknown.slice(0, 64))}; ${rule}.`)
  }
  for (const [name, { isRequired, ...schema }] of Object.entries(fields)) {
    const value = values[name]
    if (value === undefined && isRequired) throw invalid(`"${name}" is missing.`)
    if (value !== undefined && !fits(value, schema)) throw invalid(`"${name}" ${ruleOf(schema)}.`)
  }
  return values
}

function fits(value: unknown, schema: Schema): boolean {
  const types = [schema.type ?? []].flat()
  if (!types.some((type) => type === typeOf(value))) return false
  if (typeof value === 'string') {
    const { minLength = 0, maxLength = MAX_TEXT, enum: choices = [value] } = schema
    const isLong = value.length < minLength || value.length > maxLength
    return !isLong && value.isWellFormed() && choices.includes(value)
  }
  if (typeof value !== 'object' || value === null) return true
  const { items, maxItems = 32, additionalProperties } = schema
  const inner = items ?? (typeof additionalProperties === 'object' ? additionalProperties : {})
  const all: unknown[] = Object.values(value)
  return all.length <= maxItems && all.every((one) => fits(one, inner))
}

const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value

const ruleOf = ({ type, enum: choices, maxLength, items }: Schema): string => {
  if (choices) return `must be ${choices.map((one) => `"${one}"`).join(' or ')}`
  if (items) return 'must be a list of texts'
  const kinds = [type ?? []].flat().join(' or ')
  return `must be of type ${kinds}${maxLength === undefined ? '' : `, of 1 to ${maxLength} characters`}`
}
