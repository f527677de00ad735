import {
  definitionOf,
  StoreError,
  type Decision,
  type Limiter,
  type StoreErrorCode,
} from '@sluice/core'
import { explain, explanationText, type Explanation } from '@sluice/core/explain'
import { amountOf, assertNotRefused, stopText } from '@sluice/core/internal/operator'
import { askerText, asksText, timeText } from '@sluice/core/internal/text'
import { writeRefusal } from '../doctor/database.ts'
import { countOf, textOf, type Command, type Result, type Values } from '../command.ts'
import { asCommandError, ifInstalled, installed, refuse, type CommandError } from '../errors.ts'
import { moreText, table } from '../format.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { noneText, recordedDenials } from '../recorded-denials.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { dimensionOption, option, pair, startOf } from '../wording.ts'

export const why: Command = {
  summary: 'why a request is denied now, and what would let it pass',
  usage: `Usage: sluice why --tenant NAME [--cost UNIT=N,…] [options]
       sluice why --tenant NAME --id ID [options]
       sluice why --tenant NAME --recent [options]

Tells which limits deny a request now, when it fits, and what would let it pass: less cost, or a higher limit. With
recordUsage, also who has used it up in the last hours. It charges nothing. With --id, tells why one request was denied,
of those that recordDenials keeps for a day; --recent lists these. A store that refuses to write is said, too.

${SUBJECT_USAGE}
  --id ID               the X-Request-Id of a 429
  --recent              list the denials that are recorded, the latest first
  --top N               the most of them to list (default: 20)
  --cost UNIT=N,…       what the request asks for, such as token=1200 or usd='$0.05' (default: as the
                        latest recorded denial, else 1 of each unit)
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const subject = subjectOf(values)
    if (!subject) refuse(`name who was denied, such as ${dimensionOption('tenant', 'acme')}`)
    const { limiter } = await limiterFor(values, folder)
    const id = textOf(values, 'id')
    assertTogether(values)
    if (id !== undefined) return recorded(limiter, tenantIn(subject, 'id'), id)
    if (values['recent'] === true) {
      return recent(limiter, tenantIn(subject, 'recent'), countOf(values, 'top', 20))
    }
    const units = definitionOf(limiter).rules.map(({ unit }) => [unit, 1] as const)
    const given = textOf(values, 'cost')
    const denied = given === undefined ? await deniedCostOf(limiter, subject) : undefined
    const asked = denied?.cost ?? costOf(given)
    const cost = { request: 1, ...Object.fromEntries(units), ...asked }
    const explanation = await explain(limiter, subject, { cost })
    const { degraded } = explanation.decision
    await assertNotRefused(limiter, degraded?.cause)
    const stopped =
      degraded || subject['tenant'] === undefined
        ? undefined
        : await stopText(limiter, { tenant: subject['tenant'] }, { startOf })
    const refusal = degraded ? undefined : await writeRefusal(limiter, subject)
    const users = await usersOf(limiter, explanation.decision, subject['tenant'])
    return {
      text: [
        askerText(subject, explanation.decision.plan),
        asksText(cost, denied?.at),
        ...(stopped === undefined ? [] : [stopped]),
        explanationText(stopped === undefined ? explanation : withoutRaises(explanation)),
        ...(refusal === undefined ? [] : [refusalText(refusal)]),
        ...users.lines,
      ].join('\n'),
      json: {
        subject,
        cost,
        denial: denied?.id,
        stopped,
        refusal,
        error: errorOf(degraded?.cause, refusal),
        ...explanation,
        users: users.list,
      },
      exitCode: degraded || refusal !== undefined ? 1 : 0,
    }
  },
}

const refusalText = (refusal: string): string =>
  `The store refuses to write (${refusal}), so onStoreError decides each call. To find out why: sluice doctor`

/** Returns the failure of the store, as the other commands print it. */
function errorOf(cause: StoreErrorCode | undefined, refusal: string | undefined) {
  if (cause === undefined && refusal === undefined) return undefined
  const text = refusal === undefined ? 'The store failed' : refusalText(refusal)
  const { code, message } = asCommandError(
    new StoreError(cause ?? 'store_refused', text),
  ) as CommandError
  return { code, message }
}

/** Leaves out the limits that would let a request pass: a stop is to be ended, not outbid. */
const withoutRaises = (explanation: Explanation): Explanation => ({
  ...explanation,
  denials: explanation.denials.map((denial) => ({ ...denial, raise: undefined })),
})

/** Options, and those that would have no effect beside them. */
const APART: readonly (readonly [option: string, without: readonly string[]])[] = [
  ['id', ['recent', 'cost', 'top']],
  ['recent', ['cost']],
]

/** @throws CommandError When an option would be of no effect. */
function assertTogether(values: Values): void {
  for (const [name, without] of APART) {
    const other =
      values[name] === undefined ? undefined : without.find((one) => values[one] !== undefined)
    if (other !== undefined) refuse(`${option(name)} and ${option(other)} cannot be given together`)
  }
  if (values['top'] === undefined || values['recent'] === true) return
  refuse(`${option('top')} needs ${option('recent')}`)
}

/** @throws CommandError When a subject is not a tenant alone. */
function tenantIn({ tenant, ...others }: Readonly<Record<string, string>>, name: string): string {
  if (tenant !== undefined && Object.keys(others).length === 0) return tenant
  return refuse(
    `${option(name)} needs the tenant, and nothing else: ${dimensionOption('tenant', 'acme')}`,
  )
}

async function recent(limiter: Limiter, tenant: string, top: number): Promise<Result> {
  const { denyingText } = await installed('@sluice/usage', () => import('@sluice/usage/denials'))
  const denials = await recordedDenials(limiter, tenant)
  if (denials.length === 0) return { text: noneText(tenant), json: { tenant, denials } }
  const rows = denials
    .slice(0, top)
    .map((denial) => [timeText(denial.at), denial.id, denyingText(denial)])
  return {
    text: [table(['time', 'id', 'denied by'], rows), ...moreText(denials.length, top)].join('\n'),
    json: { tenant, denials },
  }
}

/** @throws CommandError When no denial of this id is recorded. */
async function recorded(limiter: Limiter, tenant: string, id: string): Promise<Result> {
  const { denialText, readDenial } = await installed(
    '@sluice/usage',
    () => import('@sluice/usage/denials'),
  )
  const denial = await readDenial(limiter, tenant, id)
  const text = denialText(tenant, id, denial)
  if (!denial) refuse(text)
  return { text, json: { tenant, denial } }
}

function costOf(text: string | undefined): Readonly<Record<string, number>> {
  if (text === undefined) return {}
  const pairs = text.split(',').map((item) => {
    const [, unit, amount] = /^([^=]+)=(.+)$/.exec(item) ?? []
    const asked = { name: option('cost'), unit: unit ?? '' }
    const units = amount === '0' ? 0 : amountOf(amount ?? '', asked, asked.unit, { pair })
    if (unit !== undefined && typeof units === 'number') return [unit, units] as const
    return refuse(
      `${option('cost')} ${item} must be a unit and an amount, such as ${pair('token', '1200')}`,
    )
  })
  return Object.fromEntries(pairs)
}

async function deniedCostOf(limiter: Limiter, subject: Readonly<Record<string, string>>) {
  const denials = await ifInstalled(() => import('@sluice/usage/denials'))
  return denials?.latestDeniedCost(limiter, subject)
}

/** Returns who has used up the limit that denies, if a limiter records usage. */
async function usersOf(limiter: Limiter, decision: Decision, tenant: string | undefined) {
  const report = await ifInstalled(() => import('@sluice/usage/report'))
  const list = (await report?.topUsers(limiter, decision, tenant)) ?? []
  return { list, lines: !report || list.length === 0 ? [] : [report.topUsersText(list)] }
}
