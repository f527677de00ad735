import { listApiKeys } from '@sluice/core/api-keys'
import { planKey } from '@sluice/core/operator'
import { tenantOf, taskOf, type Address, type AdminCall } from './call.ts'
import { ADMIN_ONLY, adminOnly, isLimited } from './ceiling.ts'
import { text } from './fields.ts'
import { AdminRefusal } from './refusal.ts'

/** The most keys whose plan changes in one request: each takes three calls of the store, of which a Worker has few. */
const MAX_PLANNED = 100

/** The address of the plan of an organisation, which its keys have. */
export const PLAN_ADDRESSES: readonly Address[] = [
  {
    id: 'setPlan',
    method: 'PUT',
    path: '/admin/limits/{tenant}/plan',
    summary: 'Change the plan of all keys of an organisation, those of its operators among them',
    body: { plan: { ...text('The plan, one of src/limits.ts'), isRequired: true } },
    answer: {
      type: 'object',
      properties: {
        plan: { type: 'string' },
        keys: { type: 'array', items: { type: 'string' }, description: 'The keys that have it' },
      },
      required: ['plan', 'keys'],
      additionalProperties: false,
    },
    isScoped: true,
    adminOnly: ADMIN_ONLY.plan,
    async run(call) {
      const tenant = tenantOf(call, call.path['tenant'])
      if (isLimited(call)) throw adminOnly(ADMIN_ONLY.plan)
      const plan = String(call.body['plan'])
      for (;;) {
        const keys = await validKeys(call, tenant)
        const others = keys.filter(({ subject }) => subject['plan'] !== plan)
        if (others.length === 0) return { plan, keys: keys.map(({ id }) => id) }
        if (others.length > MAX_PLANNED) {
          const rule = `There are more than ${MAX_PLANNED} keys: change them one by one.`
          throw new AdminRefusal(409, 'conflict', rule)
        }
        // Then looks again: an operator may have made a key of the old plan meanwhile.
        for (const { id } of others) await planKey(taskOf(call), id, plan)
      }
    },
  },
]

/** Returns the keys of a tenant that have not expired. */
export async function validKeys({ limiter }: AdminCall, tenant: string) {
  const keys = await listApiKeys(limiter, tenant)
  return keys.filter(({ expiresAt = Infinity }) => expiresAt > Date.now())
}
