import {
  definitionOf,
  StoreError,
  type Decision,
  type Limiter,
  type PolicyState,
} from '@sluice/core'
import { adaptedLimitOf, type AdaptedLimit } from '@sluice/core/internal/limiter'
import { balance, type Balance } from '@sluice/core/credits'
import type { ConfigurationEntry } from '@sluice/core/configuration'
import { lookInStore, settingsOf, settingText, usedOf } from '@sluice/core/internal/operator'
import {
  amountText,
  durationText,
  localTimeText,
  subjectText,
  timeText,
  unitsText,
} from '@sluice/core/internal/text'
import { textOf, type Command } from '../command.ts'
import { asCommandError, refuse, type CommandError } from '../errors.ts'
import { table } from '../format.ts'
import { limitsOf, type LimitFact, type Stated } from '../limit-facts.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { publicLimits } from '../public-limits.ts'
import { publicTable } from '../public-table.ts'
import { itemsOf } from '../replay/log-options.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { option } from '../wording.ts'

export const show: Command = {
  summary: 'your limits; with --tenant, what it has left',
  usage: `Usage: sluice show [--tenant NAME] [options]
       sluice show --public [--plans A,B] [options]

Lists the limits of your code and the settings that were changed at run time. With a subject, what it has
used and what is left: nothing is charged. With --public, prints a table of limits for your API's customers, as
Markdown, from your code alone: by plan, without limits of everyone together, on trial, or of balances. It has all your
plans, private ones too: choose with --plans.

  --public              print the table for customers
  --plans A,B           its plans, in this order (default: all)
${SUBJECT_USAGE}
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter, file } = await limiterFor(values, folder)
    const subject = subjectOf(values)
    const plans = textOf(values, 'plans')
    const chosen = plans === undefined ? undefined : itemsOf('plans', plans)
    if (values['public'] === true) {
      if (subject) refuse(`${option('public')} is for all customers: leave out the subject`)
      const limits = publicLimits(limiter, chosen)
      return { text: publicTable(limits, chosen !== undefined), json: limits }
    }
    if (chosen) refuse(`${option('plans')} chooses the plans of ${option('public')}: add it`)
    if (!subject) {
      const limits = limitsOf(limiter)
      try {
        const settings = await settingsOf(limiter)
        return { text: overview(file, limits, settings), json: { file, limits, settings } }
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        // The limits of the code are true without a store.
        const { code, message } = asCommandError(error) as CommandError
        const note = `What was changed at run time is not known: ${message}`
        return {
          text: `${overview(file, limits, [])}\n${note}`,
          json: { file, limits, error: { code, message } },
          exitCode: 1,
        }
      }
    }
    const decision = await lookInStore(limiter, subject)
    const settings = await settingsOf(limiter, subject)
    const { at, plan, source, policies, skipped } = decision
    const adapted = adaptedAmong(limiter, policies)
    const balances = await balancesOf(limiter, subject, policies)
    return {
      text: useText(subject, decision, settings, adapted, balances),
      json: { subject, at, plan, source, policies, skipped, settings, adapted, balances },
    }
  },
}

function overview(
  file: string,
  limits: readonly LimitFact[],
  settings: readonly ConfigurationEntry[],
): string {
  const rows = limits.map((fact) => [
    fact.name,
    limitText(fact),
    fact.unit,
    fact.windowMs === 0 ? 'none' : durationText(fact.windowMs),
    fact.per,
    markOf(fact),
  ])
  return [
    table(['policy', 'limit', 'unit', 'window', 'per', ''], rows),
    '',
    `From ${file}.`,
    ...changedLines(settings, limits),
  ].join('\n')
}

function limitText({ limit, unit, isBalance }: LimitFact): string {
  const textFor = (stated: Stated): string =>
    typeof stated === 'number' ? unitsText(stated, unit) : stated
  const text =
    typeof limit === 'object'
      ? Object.entries(limit)
          .map(([plan, stated]) => `${plan} ${textFor(stated)}`)
          .join(', ')
      : textFor(limit)
  if (!isBalance) return text
  return limit === 0 ? 'balance' : `balance, includes ${text}`
}

/** Returns who a policy is not enforced for. */
function markOf({ mode, rollout }: LimitFact): string {
  const { enabled = 100, enforced = 100 } = rollout ?? {}
  const shares = [
    ...(enabled < 100 ? [`counted for ${enabled} %`] : []),
    ...(mode === 'enforce' && enforced < 100 ? [`enforced for ${enforced} %`] : []),
  ]
  return [...(mode === 'shadow' ? ['shadow'] : []), ...shares].join(', ')
}

function changedLines(
  settings: readonly ConfigurationEntry[],
  policies: readonly { readonly name: string; readonly unit: string }[],
): string[] {
  if (settings.length === 0) return []
  const unitOf = new Map(policies.map(({ name, unit }) => [name, unit]))
  const lines = settings.map((entry) => settingText(entry, unitOf.get(entry.policy)))
  return ['', 'Changed at run time:', ...lines]
}

interface ShownBalance extends Pick<
  Balance,
  'available' | 'held' | 'abandoned' | 'debt' | 'renewsAt'
> {
  readonly policy: string
  readonly text: string
}

/** Returns each balance of credits in words. */
async function balancesOf(
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
  policies: readonly PolicyState[],
): Promise<ShownBalance[]> {
  const shown: ShownBalance[] = []
  for (const { name: policy, unit, reason } of policies) {
    if (reason !== 'credits_exhausted') continue
    const found = await balance(limiter, subject, { policy })
    const { available, held, abandoned, debt, renewsAt } = found
    const parts = Object.entries({ held, abandoned, 'of debt': debt })
      .filter(([, units]) => units > 0)
      .map(([word, units]) => `${amountText(units, unit)} ${word}`)
    const renewed = renewsAt === undefined ? [] : [`allowance renewed at ${timeText(renewsAt)}`]
    const text = [`${amountText(available, unit)} left`, ...parts, ...renewed].join(', ')
    shown.push({ policy, text, available, held, abandoned, debt, renewsAt })
  }
  return shown
}

interface AdaptedPolicy extends AdaptedLimit {
  readonly policy: string
}

/** Returns the limits that follow an upstream, as the decision had them. */
function adaptedAmong(limiter: Limiter, policies: readonly PolicyState[]): AdaptedPolicy[] {
  const { rules } = definitionOf(limiter)
  return policies.flatMap((state) => {
    const rule = rules.find(({ name }) => name === state.name)
    const adapted = adaptedLimitOf(rule, state)
    return adapted ? [{ policy: state.name, ...adapted }] : []
  })
}

/** Returns the time until used units return, and with a calendar the local time. */
function returnText({ resetMs, resetsAt }: PolicyState): string {
  const wait = resetMs > 0 ? `in ${durationText(resetMs)}` : ''
  return resetsAt === undefined ? wait : `${wait}, at ${localTimeText(resetsAt)}`
}

function useText(
  subject: Readonly<Record<string, string>>,
  { plan, policies, skipped }: Decision,
  settings: readonly ConfigurationEntry[],
  adapted: readonly AdaptedPolicy[],
  balances: readonly ShownBalance[],
): string {
  const rows = policies.map((state) => [
    state.name,
    ...(state.reason === 'credits_exhausted'
      ? ['', '']
      : [unitsText(usedOf(state), state.unit), unitsText(state.burst, state.unit)]),
    unitsText(state.remaining, state.unit),
    state.unit,
    returnText(state),
    state.enforced ? '' : 'shadow',
  ])
  return [
    `${subjectText(subject)}${plan === undefined ? '' : ` (plan ${plan})`}`,
    table(['policy', 'used', 'of', 'left', 'unit', 'returns', ''], rows),
    ...balances.map(
      ({ policy, text }) => `${policy}: ${text}. See sluice credits balance for its grants.`,
    ),
    ...skipped.map(({ name, why }) => `${name} takes no part: ${why.replace('_', ' ')}`),
    ...(adapted.length > 0 ? ['', 'Adapted to an upstream:'] : []),
    ...adapted.map(
      ({ policy, limit, most, why }) => `  ${policy}: ${limit} now, ${most} in the code: ${why}`,
    ),
    ...changedLines(settings, policies),
  ].join('\n')
}
