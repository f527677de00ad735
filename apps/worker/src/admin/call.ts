import type { Limiter } from '@sluice/core'
import type { OperatorTask, OperatorWords } from '@sluice/core/operator'
import type { Fields, Schema, Values } from './fields.ts'
import type { Operator } from './operators.ts'
import { AdminRefusal, nothingHere } from './refusal.ts'

/** A request to an address of administration, after its checks. */
export interface AdminCall {
  readonly limiter: Limiter
  readonly operator: Operator
  /** The parts of the path, by name. */
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: Values
}

/** An address of administration: what it takes, answers and does. The OpenAPI document is made from these. */
export interface Address {
  /** The name of the operation. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With names of parts in braces. */
  readonly path: string
  readonly summary: string
  /** @default none */
  readonly query?: Fields
  /** @default no body */
  readonly body?: Fields
  /** @default 200 */
  readonly status?: 201
  readonly answer: Schema
  /** True if ids of another organisation may be named. They answer as if there were none. */
  readonly isScoped: boolean
  /** The reason for which operators of one organisation are refused, always or for some requests. @default never */
  readonly adminOnly?: string
  /** Returns the body of the answer. @throws OperatorError */
  readonly run: (call: AdminCall) => Promise<Readonly<Record<string, unknown>>>
}

/** Returns a tenant that an operator may see. @throws AdminRefusal As if there were nothing. */
export function tenantOf({ operator }: AdminCall, named: string | undefined): string {
  const tenant = named ?? operator.tenant
  if (tenant === undefined) {
    throw new AdminRefusal(400, 'invalid_request', '"tenant" is missing: name an organisation.')
  }
  if (operator.tenant !== undefined && tenant !== operator.tenant) throw nothingHere()
  return tenant
}

const field = (name: string, value?: string | true): string =>
  value === undefined ? `"${name}"` : `"${name}": ${JSON.stringify(value)}`

/** Names fields of a body, and addresses. */
const WORDS: OperatorWords = {
  option: field,
  pair: field,
  dimension: (name, value) => `?${name}=${value}`,
  keysOf: (tenant) => `GET /admin/keys?tenant=${encodeURIComponent(tenant)}`,
  startOf: ({ tenant = '', ...parts }) => {
    const query = new URLSearchParams(parts).toString()
    return `POST /admin/limits/${encodeURIComponent(tenant)}/start${query && `?${query}`}`
  },
  file: 'src/limits.ts',
}

/** Returns the task of a call, which is made at once. */
export function taskOf({ limiter, operator, body }: AdminCall): OperatorTask {
  const { note } = body
  return {
    limiter,
    words: WORDS,
    confirm: async () => {},
    author: { by: operator.id, ...(typeof note === 'string' && { note }) },
    // Those of operators are for `ADMIN_KEY` alone.
    mayManage: ({ subject }) =>
      operator.tenant === undefined ||
      (subject['tenant'] === operator.tenant && !('role' in subject)),
  }
}
