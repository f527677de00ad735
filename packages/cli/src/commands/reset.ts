import { definitionOf, type Limiter, type PolicyRule, type PolicyState } from '@sluice/core'
import { removeConfiguration, type ConfigurationEntry } from '@sluice/core/configuration'
import { onRoutes, policiesToReset } from '@sluice/core/internal/limiter'
import { amountText, subjectText } from '@sluice/core/internal/text'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { assertShared } from '../shared-store.ts'
import { look } from '../look.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { dimensionOption } from '../wording.ts'
import { settingsOf } from '../settings.ts'
import { settingText, usedOf } from './show.ts'

export const reset: Command = {
  summary: 'let a tenant begin anew',
  usage: `Usage: sluice reset --tenant NAME [--yes] [options]

Removes what a subject has used. Policies that count everyone together are reset only if you name them. Without --yes,
it shows what would be removed.

${SUBJECT_USAGE}
  --policies A,B        only these
  --routes A,B          the routes of policies that count by route, if --route is not given
  --settings            also remove its settings
  --yes                 do it
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const given = subjectOf(values)
    const subject = given ?? {}
    const [policies, routes] = ['policies', 'routes'].map((name) =>
      textOf(values, name)?.split(','),
    )
    if (routes && subject['route'] !== undefined)
      refuse('name the route by --route, or several by --routes')
    const { limiter } = await limiterFor(values, folder)
    const options = { ...(policies && { policies }), ...(routes && { routes }) }
    const rules = policiesToReset(definitionOf(limiter).rules, subject, options)
    if (!given && (!policies || rules.some(({ per }) => per !== 'global')))
      refuse('name who begins anew, such as --tenant acme')
    const parts = rules.flatMap((rule) => partsOf(rule, subject, routes))
    const used = []
    for (const { rule, part } of parts) {
      const state = await stateOf(limiter, rule, { ...subject, ...part })
      if (state)
        used.push({ policy: rule.name, subject: part, used: usedOf(state), unit: rule.unit })
    }
    const settings = values['settings'] === true ? await settingsOfAll(limiter, parts) : []
    const isMade = values['yes'] === true
    if (isMade) {
      await assertShared(limiter)
      if (values['settings'] === true) await removeConfiguration(limiter, subject, options)
      await limiter.reset(subject, options)
    }
    const lines = used.map(
      (one) =>
        `${one.policy} (${subjectText(one.subject)}): ${amountText(one.used, one.unit)} used`,
    )
    return {
      text: [
        ...lines,
        ...settings.map((entry) => {
          const unit = rules.find(({ name }) => name === entry.policy)?.unit
          return `Set for ${settingText(entry, unit).trim()}`
        }),
        isMade ? 'Removed.' : 'Nothing is removed. Add --yes to remove it.',
      ].join('\n'),
      json: { subject, used, settings, made: isMade },
    }
  },
}

interface Part {
  readonly rule: PolicyRule
  /** The dimensions of the subject that the policy counts by. `undefined` for a policy with per `'global'`. */
  readonly part: Readonly<Record<string, string>> | undefined
}

/** Returns the parts of a policy that a reset removes. @throws CommandError When the subject lacks a dimension. */
function partsOf(
  rule: PolicyRule,
  subject: Readonly<Record<string, string>>,
  routes: readonly string[] | undefined,
): Part[] {
  const { name, per } = rule
  if (per === 'global') return [{ rule, part: undefined }]
  const isKnown = (dimension: string): boolean =>
    subject[dimension] !== undefined ||
    (dimension === 'route' && (routes ?? rule.routes) !== undefined)
  const missing = per.find((dimension) => !isKnown(dimension))
  if (missing !== undefined) {
    const more = missing === 'route' ? ', or several: --routes A,B' : ''
    refuse(
      `"${name}" counts by ${per.join(' and ')}: add ${dimensionOption(missing, 'NAME')}${more}`,
    )
  }
  return onRoutes(subject, rule, routes ? { routes } : {}).map((one) => ({
    rule,
    part: Object.fromEntries(Object.entries(one).filter(([dimension]) => per.includes(dimension))),
  }))
}

/** Returns the state of a policy. `undefined` if the policy does not count it. */
async function stateOf(
  limiter: Limiter,
  { name }: PolicyRule,
  subject: Readonly<Record<string, string>>,
): Promise<PolicyState | undefined> {
  // Other policies may count by what is not known here: any name does, because a look charges nothing.
  const dimensions = definitionOf(limiter).rules.flatMap(({ per }) => (per === 'global' ? [] : per))
  const others = Object.fromEntries(dimensions.map((dimension) => [dimension, '-']))
  const { policies } = await look(limiter, { ...others, ...subject })
  return policies.find((state) => state.name === name)
}

async function settingsOfAll(
  limiter: Limiter,
  parts: readonly Part[],
): Promise<ConfigurationEntry[]> {
  const all: ConfigurationEntry[] = []
  for (const { rule, part } of parts) {
    if (!part) continue
    const entries = await settingsOf(limiter, part)
    all.push(...entries.filter(({ policy }) => policy === rule.name))
  }
  return all
}
