import { definitionOf, type Decision, type Limiter } from '@sluice/core'
import { explain, explanationText } from '@sluice/core/explain'
import { amountText, unitsText } from '@sluice/core/internal/text'
import type { Command, Result } from '../command.ts'
import { countOf, textOf } from '../command.ts'
import { deniedBy, denialText, useText } from '../denial-text.ts'
import { CommandError, installed, lacksExtension } from '../errors.ts'
import { table } from '../format.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { nameText } from '../printable.ts'
import { recordedDenials } from '../recorded-denials.ts'
import { SUBJECT_OPTIONS, SUBJECT_USAGE, subjectOf, subjectText } from '../subject.ts'
import { amountOf } from '../units.ts'
import { timeText } from '../until.ts'
import { usedOf } from './show.ts'

export const why: Command = {
  summary: 'why a request is denied now, and what would let it pass',
  usage: `Usage: sluice why --tenant NAME [--cost UNIT=N,…] [options]
       sluice why --tenant NAME --id ID [options]
       sluice why --tenant NAME --recent [options]

Tells which limits deny a request now, when it fits, and what would let it pass: less cost, or a higher limit. With
recordUsage, also who has used it up in the last hours. It charges nothing. With --id, tells why one request was denied,
of those that recordDenials keeps for a day; --recent lists these.

${SUBJECT_USAGE}
  --id ID               the X-Request-Id of a 429
  --recent              list the denials that are recorded, the latest first
  --top N               the most of them to list (default: 20)
  --cost UNIT=N,…       what the request asks for, such as token=1200 or usd='$0.05' (default: 1 of each unit)
${LIMITER_USAGE}`,
  options: {
    ...SUBJECT_OPTIONS,
    ...LIMITER_OPTIONS,
    cost: { type: 'string' },
    id: { type: 'string' },
    recent: { type: 'boolean' },
    top: { type: 'string' },
  },

  async run(values, _, { folder }) {
    const subject = subjectOf(values)
    if (!subject) throw new CommandError('name who was denied, such as --tenant acme')
    const { limiter } = await limiterFor(values, folder)
    const id = textOf(values, 'id')
    if (id !== undefined) return recorded(limiter, tenantIn(subject, '--id ID'), id)
    if (values['recent'] === true) {
      return recent(limiter, tenantIn(subject, '--recent'), countOf(values, 'top', 20))
    }
    const units = definitionOf(limiter).rules.map(({ unit }) => [unit, 1] as const)
    const cost = { request: 1, ...Object.fromEntries(units), ...costOf(textOf(values, 'cost')) }
    const explanation = await explain(limiter, subject, { cost })
    const { degraded } = explanation.decision
    const users = await usersOf(limiter, explanation.decision, subject)
    const lines = explanation.decision.policies.map(
      (state) =>
        `  ${state.name}: ${unitsText(usedOf(state), state.unit)} of ${amountText(state.burst, state.unit)} used${state.enforced ? '' : ', in shadow'}`,
    )
    return {
      text: [
        subjectText(subject),
        explanationText(explanation),
        ...(explanation.denials.length === 0 ? lines : []),
        ...(users.length > 0 ? ['Used in the last hours, as recorded:'] : []),
        ...users.map(({ what, requests, tokens, usd }) =>
          [
            `  ${nameText(what)}: ${amountText(requests, 'request')}`,
            ...(tokens > 0 ? [amountText(tokens, 'token')] : []),
            ...(usd > 0 ? [unitsText(usd, 'usd')] : []),
          ].join(', '),
        ),
      ].join('\n'),
      json: { subject, ...explanation, users },
      exitCode: degraded ? 1 : 0,
    }
  },
}

/** @throws CommandError When a subject is not a tenant alone. */
function tenantIn({ tenant, ...others }: Readonly<Record<string, string>>, option: string): string {
  if (tenant !== undefined && Object.keys(others).length === 0) return tenant
  const [name = ''] = option.split(' ')
  throw new CommandError(`${name} needs the tenant, and nothing else: --tenant acme ${option}`)
}

/** Lists the denials that are recorded. */
async function recent(limiter: Limiter, tenant: string, top: number): Promise<Result> {
  const denials = await recordedDenials(limiter, tenant)
  const rows = denials
    .slice(0, top)
    .map((denial) => [
      timeText(denial.at),
      denial.id,
      deniedBy(denial)?.name ?? denial.reason,
      useText(denial),
    ])
  const more =
    denials.length > top ? [`and ${denials.length - top} more: --top ${denials.length}`] : []
  return {
    text: [table(['time', 'id', 'denied by', 'used'], rows), ...more].join('\n'),
    json: { tenant, denials },
  }
}

/** @throws CommandError When no denial of this id is recorded. */
async function recorded(limiter: Limiter, tenant: string, id: string): Promise<Result> {
  const { readDenial } = await installed('@sluice/usage', () => import('@sluice/usage/denials'))
  const denial = await readDenial(limiter, tenant, id)
  if (denial) return { text: denialText(tenant, denial), json: { tenant, denial } }
  throw new CommandError(
    `no denial of ${tenant} with the id ${id} is recorded: it may be older than a day, or one of more than are kept`,
  )
}

function costOf(text: string | undefined): Readonly<Record<string, number>> {
  if (text === undefined) return {}
  const pairs = text.split(',').map((pair) => {
    const [, unit, amount] = /^([^=]+)=(.+)$/.exec(pair) ?? []
    const asked = { name: '--cost', unit: unit ?? '' }
    const units = amount === '0' ? 0 : amountOf(amount ?? '', asked, `${unit}=`)
    if (unit !== undefined && typeof units === 'number') return [unit, units] as const
    throw new CommandError(`--cost ${pair} must be UNIT=N, such as token=1200`)
  })
  return Object.fromEntries(pairs)
}

interface User {
  readonly what: string
  requests: number
  tokens: number
  usd: number
}

/** The most users to name. */
const MOST = 3

/** The longest that hourly rows are read for. */
const MAX_HOURS = 48

/** Returns who has used up what denies: of a limit for everyone the tenants, else the routes and models of the tenant. */
async function usersOf(
  limiter: Limiter,
  { violated, at }: Decision,
  { tenant }: Readonly<Record<string, string>>,
): Promise<User[]> {
  if (!violated) return []
  const isGlobal = violated.scope === 'global'
  const hours = Math.min(MAX_HOURS, Math.ceil(violated.windowMs / 3_600_000))
  const rows = await rowsOf(limiter, at - hours * 3_600_000, isGlobal ? undefined : tenant)
  const users = new Map<string, User>()
  for (const { tenant: of, route, model, outcome, requests, tokens, usd } of rows) {
    if (outcome !== 'allowed') continue
    const what = isGlobal ? of : [route, model].filter((name) => name !== '').join(', ') || of
    const user = users.get(what) ?? { what, requests: 0, tokens: 0, usd: 0 }
    users.set(what, user)
    user.requests += requests
    user.tokens += tokens
    user.usd += usd
  }
  return [...users.values()]
    .toSorted((a, b) => b.usd - a.usd || b.tokens - a.tokens || b.requests - a.requests)
    .slice(0, MOST)
}

/** Returns what is recorded: nothing for a limiter that records nothing. */
async function rowsOf(limiter: Limiter, from: number, tenant: string | undefined) {
  try {
    const { usage } = await import('@sluice/usage/report')
    const { rows } = await usage(limiter, {
      from,
      ...(tenant !== undefined && { tenants: [tenant] }),
    })
    return rows
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return []
    if (lacksExtension(error)) return []
    throw error
  }
}
