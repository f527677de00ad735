import { subjectText } from '@sluice/core/internal/text'
import { definitionOf, type Limiter, type PolicyRule } from '@sluice/core'
import { AUTHOR_USAGE } from '../author.ts'
import { changeSettings, type PolicyChange } from '../change-settings.ts'
import { AMOUNTS } from '../change-text.ts'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { stopsOf, stopText } from '../stop-of.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { amountOf } from '../units.ts'
import { untilOfPolicy } from '../until.ts'
import { dimensionOption, pair } from '../wording.ts'

export const set: Command = {
  summary: 'change a limit at run time, for everyone or one tenant',
  usage: `Usage: sluice set POLICY SETTING=VALUE … [--tenant NAME] [--until TIME] [--yes] [options]

Changes settings that runtimeConfiguration allows: limit, burst, mode, enabled, enforced. A value of "null" removes
a setting, so that the limit of the code applies again. Dollars are written with a sign: limit='$20'. A change until a
time ends now: until=null, or any change without --until. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --until TIME          the change ends by itself: after 24h or 3d, at 2026-11-28T18:00Z, or with a cap's window: window
${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, [policy, ...given], { folder }) {
    if (policy === undefined || given.length === 0)
      refuse(`name a policy and a setting, such as rpm and ${pair('limit', '30')}`)
    const until = textOf(values, 'until')
    const { limiter, file } = await limiterFor(values, folder)
    const { rules } = definitionOf(limiter)
    const rule = rules.find(({ name }) => name === policy)
    if (!rule) {
      const names = rules.map(({ name }) => name).join(', ')
      refuse(`${file} has no policy "${policy}", but ${names}`)
    }
    const end = until === undefined ? undefined : untilOfPolicy(until, rule)
    const subject = partOf(subjectOf(values), rule)
    const settings = settingsIn(given, rule)
    await assertNotStopped(limiter, rule.name, subject, settings)
    // A lasting change applies now: a temporary one would hide it until its end.
    const change = { ...settings, until: end ?? null } as PolicyChange
    return changeSettings(values, limiter, { [policy]: change }, subject)
  },
}

type Value = number | string

/** @throws CommandError When a change would end the stop of a tenant, and does not say so. */
async function assertNotStopped(
  limiter: Limiter,
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
  settings: Readonly<Record<string, Value | null>>,
): Promise<void> {
  const tenant = subject?.['tenant']
  if (tenant === undefined || settings['limit'] === 0 || 'until' in settings) return
  const stops = await stopsOf(limiter, tenant)
  if (!stops.some((stop) => stop.policy === policy)) return
  refuse(`nothing is changed: ${await stopText(limiter, tenant)}`)
}

/** Returns the subject if it is what a policy counts by, and no more. */
function partOf(
  subject: Readonly<Record<string, string>> | undefined,
  { name, per }: PolicyRule,
): Readonly<Record<string, string>> | undefined {
  if (!subject) return undefined
  if (per === 'global')
    refuse(`"${name}" is one limit for everyone: leave out ${subjectText(subject)}`)
  const missing = per.find((dimension) => subject[dimension] === undefined)
  const countsBy = `"${name}" counts by ${per.join(' and ')}`
  if (missing !== undefined) refuse(`${countsBy}: add ${dimensionOption(missing, 'NAME')}`)
  const others = Object.entries(subject).filter(([dimension]) => !per.includes(dimension))
  if (others.length === 0) return subject
  return refuse(`${countsBy}: leave out ${subjectText(Object.fromEntries(others))}`)
}

function settingsIn(
  texts: readonly string[],
  rule: PolicyRule,
): Readonly<Record<string, Value | null>> {
  const settings: Record<string, Value | null> = {}
  for (const text of texts) {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(text) ?? []
    if (name === undefined || value === undefined)
      refuse(`${text} must be a setting and its value, such as ${pair('limit', '30')}`)
    if (Object.hasOwn(settings, name)) refuse(`${name} is given twice`)
    settings[name] = value === 'null' ? null : valueOf(rule, name, value)
  }
  return settings
}

function valueOf(rule: PolicyRule, name: string, text: string): Value {
  if (AMOUNTS.has(name)) return amountOf(text, rule, name)
  return /^\d+$/.test(text) ? Number(text) : text
}
