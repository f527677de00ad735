import type { Subject } from '@sluice/core'
import { definitionOf } from '@sluice/core'
import { readConfiguration } from '@sluice/core/configuration'
import { resetUse, setLimits, start, stop } from '@sluice/core/operator'
import { ADMIN_ONLY, assertBelowCeiling, endOfStop } from './ceiling.ts'
import { taskOf, tenantOf, type Address, type AdminCall } from './call.ts'
import { text, type Fields, type Schema } from './fields.ts'
import { validKeys } from './plans.ts'
import { AdminRefusal } from './refusal.ts'

type Dimensions = Readonly<Record<string, string>>

/** The parts of an organisation that have budgets of their own. */
const PARTS: Fields = {
  team: text('A team of the organisation'),
  user: text('A user of the organisation'),
  key: text('The name of a key of the organisation'),
}

const note = text('The reason, for the history of settings')

const any: Schema = { description: 'As in the answers of the command, with --json' }

const SUBJECT: Schema = { type: 'object', additionalProperties: { type: 'string' } }

const CHANGED: Schema = {
  type: 'object',
  properties: {
    subject: SUBJECT,
    policies: { type: 'array', items: any, description: 'Each policy, before and after' },
    made: { type: 'boolean', description: 'False if nothing was changed' },
  },
  required: ['subject', 'policies', 'made'],
  additionalProperties: false,
}

/** Returns the subject that an address names. @throws AdminRefusal As if there were nothing. */
function subjectOf(call: AdminCall): Dimensions {
  const parts = Object.entries(call.query).filter(([name]) => name in PARTS)
  return { tenant: tenantOf(call, call.path['tenant']), ...Object.fromEntries(parts) }
}

const textIn = ({ body }: AdminCall, name: string): string | undefined =>
  body[name] as string | undefined

const json = async (answer: ReturnType<typeof stop>) => (await answer).json

const path = '/admin/limits/{tenant}'

/** The addresses of limits: budgets of an organisation, and of its teams, users and keys. */
export const LIMIT_ADDRESSES: readonly Address[] = [
  {
    id: 'readLimits',
    method: 'GET',
    path,
    summary: 'What is used and left, and the settings that differ from the plan',
    query: { ...PARTS, plan: text('Whose limits; absent for the plan of the newest key') },
    answer: {
      type: 'object',
      properties: {
        subject: SUBJECT,
        plan: { type: 'string', description: 'The plan whose limits these are' },
        policies: { type: 'array', items: any, description: 'The state of each policy' },
        settings: { type: 'array', items: any, description: 'Settings that were changed' },
      },
      required: ['subject', 'policies', 'settings'],
      additionalProperties: false,
    },
    isScoped: true,
    run: readLimits,
  },
  {
    id: 'setLimits',
    method: 'PUT',
    path,
    summary: 'Set a limit for good, or until a time',
    query: PARTS,
    body: {
      policy: { ...text('The name of a policy'), isRequired: true },
      limit: {
        type: ['string', 'number', 'null'],
        description: 'Units, dollars such as "$20", "unlimited", or null for that of the plan',
        minLength: 1,
        maxLength: 32,
        isRequired: true,
      },
      until: text('24h or 3d, 2026-11-28T18:00Z, or window: the end of the window that runs'),
      note,
    },
    answer: CHANGED,
    isScoped: true,
    adminOnly: ADMIN_ONLY.limits,
    run: setFromBody,
  },
  {
    id: 'removeLimit',
    method: 'DELETE',
    path,
    summary: 'Remove a limit that was set, so that the plan applies',
    query: { ...PARTS, policy: { ...text('The name of a policy'), isRequired: true } },
    answer: CHANGED,
    isScoped: true,
    adminOnly: ADMIN_ONLY.limits,
    run: (call) => setLimit(call, call.query['policy'] ?? '', 'null'),
  },
  {
    id: 'stop',
    method: 'POST',
    path: `${path}/stop`,
    summary: 'Deny everything',
    query: PARTS,
    body: { until: text('24h or 3d, or a time with a zone; absent for a year'), note },
    answer: CHANGED,
    isScoped: true,
    adminOnly: ADMIN_ONLY.stop,
    async run(call) {
      const subject = subjectOf(call)
      const until = await endOfStop(call, subject, textIn(call, 'until'))
      return json(stop(taskOf(call), subject, until))
    },
  },
  {
    id: 'start',
    method: 'POST',
    path: `${path}/start`,
    summary: 'End a stop: the settings of before apply again',
    query: PARTS,
    body: { note },
    answer: CHANGED,
    isScoped: true,
    adminOnly: ADMIN_ONLY.start,
    async run(call) {
      const subject = subjectOf(call)
      await assertBelowCeiling(call, subject, [], ADMIN_ONLY.start)
      return json(start(taskOf(call), subject))
    },
  },
  {
    id: 'raise',
    method: 'POST',
    path: `${path}/raise`,
    summary: 'Set another limit until a time, after which the old one applies again',
    query: PARTS,
    body: {
      policy: { ...text('The name of a policy'), isRequired: true },
      limit: {
        type: ['string', 'number'],
        description: 'Units, or dollars such as "$20"',
        minLength: 1,
        maxLength: 32,
        isRequired: true,
      },
      until: { ...text('As in setLimits'), isRequired: true },
      note,
    },
    answer: CHANGED,
    isScoped: true,
    adminOnly: ADMIN_ONLY.limits,
    run: setFromBody,
  },
  {
    id: 'reset',
    method: 'POST',
    path: `${path}/reset`,
    summary: 'Give back what is used',
    query: PARTS,
    body: {
      policies: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 64 },
        maxItems: 32,
        description: 'Only these; absent for those that count by the dimensions of the address',
      },
      settings: { type: 'boolean', description: 'True to remove the settings, too' },
    },
    answer: {
      type: 'object',
      properties: {
        subject: SUBJECT,
        used: { type: 'array', items: any, description: 'The use of each policy before' },
        settings: { type: 'array', items: any, description: 'The settings that were removed' },
        made: { type: 'boolean', description: 'True: it was done' },
      },
      required: ['subject', 'used', 'settings', 'made'],
      additionalProperties: false,
    },
    isScoped: true,
    adminOnly: ADMIN_ONLY.limits,
    async run(call) {
      const subject = subjectOf(call)
      const { settings } = call.body
      const policies = (call.body['policies'] ?? policiesOf(call, subject)) as string[]
      await assertBelowCeiling(call, subject, policies)
      const texts = { policies, settings: settings === true }
      return json(resetUse(taskOf(call), subject, texts))
    },
  },
]

function setFromBody(call: AdminCall) {
  const { policy, limit } = call.body
  return setLimit(call, String(policy), String(limit), textIn(call, 'until'))
}

async function setLimit(call: AdminCall, policy: string, limit: string, until?: string) {
  const subject = subjectOf(call)
  await assertBelowCeiling(call, subject)
  return json(setLimits(taskOf(call), { policy, settings: { limit }, until }, subject))
}

async function readLimits(call: AdminCall) {
  const { limiter, query } = call
  const subject = subjectOf(call)
  const keys = await validKeys(call, subject['tenant'] ?? '')
  const newest = keys
    .filter(({ subject: of }) => !('role' in of))
    .filter(({ id }) => query['key'] === undefined || id === query['key'])
    .reduce<(typeof keys)[number] | undefined>(
      (last, key) => (last && last.createdAt >= key.createdAt ? last : key),
      undefined,
    )
  const plan = query['plan'] ?? newest?.subject['plan']
  // Named even if undefined: their policies take no part on purpose.
  const asked: Subject = {
    team: undefined,
    user: undefined,
    key: undefined,
    run: undefined,
    ...subject,
    ...(plan !== undefined && { plan }),
  }
  const nothing = definitionOf(limiter).rules.map(({ unit }) => [unit, 0])
  const decision = await limiter.peek(asked, { cost: Object.fromEntries(nothing) })
  if (decision.degraded) throw new AdminRefusal(503, 'store_unavailable', 'The store failed.')
  return {
    subject,
    plan: decision.plan,
    policies: decision.policies,
    settings: await readConfiguration(limiter, subject),
  }
}

/** Returns the policies that count by the dimensions of a subject, and by no others. */
function policiesOf({ limiter }: AdminCall, subject: Dimensions): string[] {
  const dimensions = Object.keys(subject).toSorted().join()
  const own = definitionOf(limiter).rules.filter(
    ({ per }) => per !== 'global' && per.toSorted().join() === dimensions,
  )
  if (own.length > 0) return [...new Set(own.map(({ name }) => name))]
  const rule = `No budget counts by ${Object.keys(subject).join(' and ')}.`
  throw new AdminRefusal(400, 'invalid_request', rule)
}
