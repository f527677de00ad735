import type { Address } from './call.ts'
import type { Fields, Schema } from './fields.ts'

const TITLES: Readonly<Record<number, string>> = {
  200: 'Done',
  201: 'Made',
  400: 'A parameter or field is unknown, missing or malformed',
  401: 'The operator key is missing, unknown, expired or revoked',
  404: 'Not found, or of another organisation',
  409: 'The state forbids it, or nobody knows how the first request of this Idempotency-Key ended',
  413: 'The body is too large',
  415: 'The body is not declared as JSON',
  422: 'This Idempotency-Key was sent with another request',
  429: 'Too many requests of this operator, or wrong keys of this address',
  503: 'The store does not answer, or is not the one of this gateway',
}

/** Lists the statuses that an address may answer with. */
const statusesOf = ({ status, method, body, isScoped, adminOnly }: Address): number[] => [
  status ?? 200,
  400,
  401,
  ...(adminOnly === undefined ? [] : [403]),
  ...(isScoped ? [404] : []),
  ...(method === 'GET' ? [] : [409, 413, 422]),
  ...(body ? [415] : []),
  429,
  503,
]

const ERROR: Schema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    error: {
      type: 'object',
      properties: {
        type: { type: 'string' },
        message: { type: 'string' },
        param: { type: 'null' },
        code: { type: 'string' },
      },
      required: ['type', 'message', 'param', 'code'],
      additionalProperties: false,
    },
  },
  required: ['type', 'error'],
  additionalProperties: false,
}

const objectOf = (fields: Fields): Schema => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(fields).map(([name, { isRequired: _isRequired, ...schema }]) => [name, schema]),
  ),
  required: Object.keys(fields).filter((name) => fields[name]?.isRequired),
  additionalProperties: false,
})

const jsonOf = (schema: object) => ({ 'application/json': { schema } })

function operationOf(address: Address) {
  const { id, path, method, summary, query = {}, body, answer } = address
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, { isRequired = false, ...schema }]) => ({
    name,
    in: 'query',
    required: isRequired,
    schema,
  }))
  const once = { $ref: '#/components/parameters/IdempotencyKey' }
  const responses = statusesOf(address).map((status) => [
    status,
    {
      description: status === 403 ? address.adminOnly : TITLES[status],
      content: jsonOf(status < 400 ? answer : { $ref: '#/components/schemas/Error' }),
    },
  ])
  return {
    operationId: id,
    summary,
    parameters: [...inPath, ...inQuery, ...(method === 'GET' ? [] : [once])],
    ...(body && { requestBody: { content: jsonOf(objectOf(body)) } }),
    responses: Object.fromEntries(responses),
  }
}

/** Returns the OpenAPI document of addresses. */
export function openApiOf(addresses: readonly Address[]) {
  const paths: Record<string, Record<string, object>> = {}
  for (const address of addresses) {
    paths[address.path] = {
      ...paths[address.path],
      [address.method.toLowerCase()]: operationOf(address),
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Administration of the gateway', version: '1' },
    servers: [{ url: '/' }],
    security: [{ operator: [] }],
    paths,
    components: {
      securitySchemes: { operator: { type: 'http', scheme: 'bearer' } },
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          description: 'A name for this request: repeated within a day, nothing is done twice',
          schema: { type: 'string', minLength: 1, maxLength: 128 },
        },
      },
      schemas: { Error: ERROR },
    },
  }
}
