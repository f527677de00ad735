/* A subject that begins anew. */
import { removeConfiguration } from '../configuration/configure.ts'
import type { ConfigurationEntry } from '../configuration/document.ts'
import { amountText, subjectText } from '../internal/text.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { onRoutes, policiesToReset } from '../limiter/reset.ts'
import { definitionOf } from '../limiter/runtime.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { settingText } from './change-settings.ts'
import { fullSubject, lookInStore, settingsOf, usedOf } from './look.ts'
import {
  type Dimensions,
  type OperatorAnswer,
  type OperatorTask,
  type OperatorWords,
  refuse,
} from './task.ts'

/** The parts of a reset. */
export interface ResetTexts {
  /** The policies to reset. @default all that do not count everyone together */
  readonly policies?: readonly string[] | undefined
  /** The routes of policies that count by route, for a subject without a route. @default those of the policy */
  readonly routes?: readonly string[] | undefined
  /** True to remove its settings, too. */
  readonly settings?: boolean
}

/**
 * Removes what a subject has used, in the policies that count by its dimensions.
 *
 * @param given The subject that begins anew. `undefined` for policies that count everyone together, which have to be named.
 * @throws OperatorError When the subject lacks a dimension.
 * @throws StoreError When the store fails.
 * @example
 * await resetUse(task, { tenant: 'acme' }, { policies: ['budget.daily'] })
 */
export async function resetUse(
  { limiter, confirm, words }: OperatorTask,
  given: Dimensions | undefined,
  { policies, routes, settings: withSettings = false }: ResetTexts = {},
): Promise<OperatorAnswer> {
  const subject = given ?? {}
  if (routes && subject['route'] !== undefined)
    refuse(`name the route by ${words.option('route')}, or several by ${words.option('routes')}`)
  const options = { ...(policies && { policies }), ...(routes && { routes }) }
  const rules = policiesToReset(definitionOf(limiter).rules, subject, options)
  if (!given && (!policies || rules.some(({ per }) => per !== 'global')))
    refuse(`name who begins anew, such as ${words.dimension('tenant', 'acme')}`)
  const parts = rules.flatMap((rule) => partsOf(rule, subject, routes, words))
  const used = []
  for (const { rule, part } of parts) {
    const { policies: states } = await lookInStore(
      limiter,
      fullSubject(limiter, { ...subject, ...part }),
    )
    const state = states.find(({ name }) => name === rule.name)
    if (state) used.push({ policy: rule.name, subject: part, used: usedOf(state), unit: rule.unit })
  }
  const settings = withSettings ? await settingsOfAll(limiter, parts) : []
  if (confirm) {
    await confirm()
    if (withSettings) await removeConfiguration(limiter, subject, options)
    await limiter.reset(subject, options)
  }
  const lines = used.map(
    (one) => `${one.policy} (${subjectText(one.subject)}): ${amountText(one.used, one.unit)} used`,
  )
  return {
    text: [
      ...lines,
      ...settings.map((entry) => {
        const unit = rules.find(({ name }) => name === entry.policy)?.unit
        return `Set for ${settingText(entry, unit).trim()}`
      }),
      confirm ? 'Removed.' : `Nothing is removed. Add ${words.option('yes', true)} to remove it.`,
    ].join('\n'),
    json: { subject, used, settings, made: confirm !== undefined },
  }
}

interface Part {
  readonly rule: PolicyRule
  /** The dimensions of the subject that the policy counts by. `undefined` for a policy with per `'global'`. */
  readonly part: Dimensions | undefined
}

/** Returns the parts of a policy that a reset removes. @throws OperatorError When the subject lacks a dimension. */
function partsOf(
  rule: PolicyRule,
  subject: Dimensions,
  routes: readonly string[] | undefined,
  words: OperatorWords,
): Part[] {
  const { name, per } = rule
  if (per === 'global') return [{ rule, part: undefined }]
  const isKnown = (dimension: string): boolean =>
    subject[dimension] !== undefined ||
    (dimension === 'route' && (routes ?? rule.routes) !== undefined)
  const missing = per.find((dimension) => !isKnown(dimension))
  if (missing !== undefined) {
    const more = missing === 'route' ? `, or several: ${words.option('routes', 'A,B')}` : ''
    refuse(
      `"${name}" counts by ${per.join(' and ')}: add ${words.dimension(missing, 'NAME')}${more}`,
    )
  }
  return onRoutes(subject, rule, routes ? { routes } : {}).map((one) => ({
    rule,
    part: Object.fromEntries(
      Object.entries(one).flatMap(([dimension, value]) =>
        per.includes(dimension) && value !== undefined ? [[dimension, value]] : [],
      ),
    ),
  }))
}

/** Returns the settings of the partitions that a reset removes. */
async function settingsOfAll(
  limiter: Limiter,
  parts: readonly Part[],
): Promise<ConfigurationEntry[]> {
  const all: ConfigurationEntry[] = []
  for (const { rule, part } of parts) {
    const entries = part ? await settingsOf(limiter, part) : []
    all.push(...entries.filter(({ policy }) => policy === rule.name))
  }
  return all
}
