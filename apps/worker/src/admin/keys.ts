import { listApiKeys } from '@sluice/core/api-keys'
import { createKey, endKey, planKey, removeKey, replaceKey } from '@sluice/core/operator'
import { ADMIN_ONLY, adminOnly, isLimited, planOfNewKey } from './ceiling.ts'
import { taskOf, tenantOf, type Address, type AdminCall } from './call.ts'
import { text, type Fields, type Schema } from './fields.ts'
import { OPERATOR_ROLE } from './operators.ts'
import { AdminRefusal } from './refusal.ts'

const time: Schema = { type: 'number', description: 'Milliseconds since the Unix epoch' }

const KEY_PROPERTIES = {
  id: { type: 'string', description: 'The name of the key' },
  subject: {
    type: 'object',
    description: 'The tenant, and perhaps team, user, plan and role',
    additionalProperties: { type: 'string' },
  },
  createdAt: time,
  expiresAt: { ...time, description: 'The end of the key; absent if it has none' },
  lifetimeMs: { type: 'number', description: 'The time for which it was made' },
  replacedBy: { type: 'string', description: 'The key that has replaced it' },
  lastUsedAt: { ...time, description: 'A request within the hour; absent if none is known' },
} satisfies Record<string, Schema>

const KEY: Schema = {
  type: 'object',
  properties: KEY_PROPERTIES,
  required: ['id', 'subject', 'createdAt'],
  additionalProperties: false,
}

const MADE: Schema = { type: 'boolean', description: 'False if nothing was changed' }

const CHANGED_KEY: Schema = {
  type: 'object',
  properties: { key: KEY, made: MADE },
  required: ['key', 'made'],
  additionalProperties: false,
}

const SECRET: Schema = {
  type: ['string', 'null'],
  description: 'The key itself, shown once; null in the answer to a repeated Idempotency-Key',
}

const newKey = (others: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { key: SECRET, ...KEY_PROPERTIES, ...others, made: MADE },
  required: ['key', 'id', 'subject', 'createdAt', 'made', ...Object.keys(others)],
  additionalProperties: false,
})

const NEW: Fields = {
  expires: text('The time for which it is valid, such as 90d; absent for good'),
  prefix: { ...text('The beginning of the key'), maxLength: 20 },
}

const idIn = ({ path }: AdminCall): string => path['id'] ?? ''

/** Returns a field that the checks of a body have found to be a text. */
const textIn = ({ body }: AdminCall, name: string): string | undefined =>
  body[name] as string | undefined

const newKeyTexts = (call: AdminCall) => ({
  expires: textIn(call, 'expires'),
  prefix: textIn(call, 'prefix'),
})

const json = async (answer: ReturnType<typeof createKey>) => (await answer).json

/** The addresses of keys. */
export const KEY_ADDRESSES: readonly Address[] = [
  {
    id: 'listKeys',
    method: 'GET',
    path: '/admin/keys',
    summary: 'List the keys of an organisation',
    query: { tenant: text('The organisation; absent for that of the operator') },
    answer: {
      type: 'object',
      properties: { keys: { type: 'array', items: KEY } },
      required: ['keys'],
      additionalProperties: false,
    },
    isScoped: true,
    async run(call) {
      const keys = await listApiKeys(call.limiter, tenantOf(call, call.query['tenant']))
      return { keys: keys.filter((key) => taskOf(call).mayManage?.(key)) }
    },
  },
  {
    id: 'createKey',
    method: 'POST',
    path: '/admin/keys',
    summary: 'Make a key of an organisation, or of a team or user in it',
    body: {
      tenant: text('The organisation; absent for that of the operator'),
      team: text('The team'),
      user: text('The user'),
      plan: text(
        'The plan, one of src/limits.ts; absent for that of the operator’s key, or the default',
      ),
      role: {
        type: 'string',
        enum: [OPERATOR_ROLE],
        description: 'A key that administers its organisation, and calls no model; for ADMIN_KEY',
      },
      ...NEW,
    },
    status: 201,
    answer: newKey({}),
    isScoped: true,
    adminOnly: ADMIN_ONLY.newKey,
    async run(call) {
      const { expires: _, prefix: __, ...dimensions } = call.body as Record<string, string>
      const tenant = tenantOf(call, dimensions['tenant'])
      const plan = await planOfNewKey(call, dimensions)
      const subject = { ...dimensions, tenant, ...(plan !== undefined && { plan }) }
      return json(createKey(taskOf(call), subject, newKeyTexts(call)))
    },
  },
  {
    id: 'readKey',
    method: 'GET',
    path: '/admin/keys/{id}',
    summary: 'Read one key',
    answer: CHANGED_KEY,
    isScoped: true,
    // Shows what a removal would end.
    run: (call) => json(removeKey({ ...taskOf(call), confirm: undefined }, idIn(call))),
  },
  {
    id: 'changeKey',
    method: 'PATCH',
    path: '/admin/keys/{id}',
    summary: 'Let a key expire, or change its plan',
    body: {
      in: text('How long the key stays valid, such as 1h; 0 ends it'),
      plan: text('Its plan from now on'),
    },
    answer: CHANGED_KEY,
    isScoped: true,
    adminOnly: ADMIN_ONLY.plan,
    async run(call) {
      const [within, plan] = [textIn(call, 'in'), textIn(call, 'plan')]
      if ((within === undefined) === (plan === undefined)) {
        throw new AdminRefusal(400, 'invalid_request', 'Name one of "in" and "plan".')
      }
      if (plan === undefined) return json(endKey(taskOf(call), idIn(call), within))
      if (isLimited(call)) throw adminOnly(ADMIN_ONLY.plan)
      return json(planKey(taskOf(call), idIn(call), plan))
    },
  },
  {
    id: 'rotateKey',
    method: 'POST',
    path: '/admin/keys/{id}/rotate',
    summary: 'Replace a key; the old one stays valid for a time',
    body: {
      overlap: text('How long the old key stays valid, such as 1h; 0 ends it; absent for 1d'),
      ...NEW,
    },
    status: 201,
    answer: newKey({ old: KEY }),
    isScoped: true,
    run: (call) =>
      json(replaceKey(taskOf(call), idIn(call), newKeyTexts(call), textIn(call, 'overlap'))),
  },
  {
    id: 'revokeKey',
    method: 'DELETE',
    path: '/admin/keys/{id}',
    summary: 'End a key at once',
    answer: CHANGED_KEY,
    isScoped: true,
    run: (call) => json(removeKey(taskOf(call), idIn(call))),
  },
]
