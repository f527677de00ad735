/* Limits at run time, for good or until a time. */
import { definitionOf } from '../limiter/runtime.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { subjectText } from '../internal/text.ts'
import { AMOUNTS, changeSettings, type PolicyChange } from './change-settings.ts'
import {
  type Dimensions,
  type OperatorAnswer,
  type OperatorTask,
  type OperatorWords,
  refuse,
} from './task.ts'
import { stopsOf, stopText } from './stop-of.ts'
import { amountOf } from './units.ts'
import { untilOfPolicy } from './until.ts'

/** A change of a policy's settings, as an operator writes it. */
export interface LimitTexts {
  /** The name of the policy. */
  readonly policy: string
  /** Settings by name, such as `{ limit: '30' }`; dollars with their sign, and `null` to remove a setting. */
  readonly settings: Dimensions
  /** A duration, a time with a zone, or `window` for the end of a cap's window, or of a session of a length. @default for good */
  readonly until?: string | undefined
}

/**
 * Changes settings of a policy: for everyone, or for one partition.
 *
 * @param subject The dimensions that the policy counts by, and no others. `undefined` for everyone.
 * @throws OperatorError When there is no such policy, a text is malformed, or the change would end a stop.
 * @throws ConfigError When `runtimeConfiguration` does not allow it.
 * @throws StoreError When the store fails.
 * @example
 * await setLimits(task, { policy: 'rpm', settings: { limit: '120' }, until: '24h' }, { tenant: 'acme' })
 */
export async function setLimits(
  task: OperatorTask,
  { policy, settings: texts, until }: LimitTexts,
  subject: Dimensions | undefined,
): Promise<OperatorAnswer> {
  const { limiter, words } = task
  const { rules } = definitionOf(limiter)
  const rule = rules.find(({ name }) => name === policy)
  if (!rule) {
    const names = rules.map(({ name }) => name).join(', ')
    refuse(`${words.file} has no policy "${policy}", but ${names}`)
  }
  const part = partOf(subject, rule, words)
  const end = until === undefined ? undefined : await untilOfPolicy(until, rule, part, task)
  const settings = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text === 'null' ? null : valueOf(rule, name, text, words),
    ]),
  )
  await assertNotStopped(task, rule.name, part, settings)
  // A lasting change applies now: a temporary one would hide it until its end.
  const change = { ...settings, until: end ?? null } as PolicyChange
  return changeSettings(task, { [policy]: change }, part)
}

type Value = number | string

/** @throws OperatorError When a change would end a stop, and does not say so. */
async function assertNotStopped(
  { limiter, words }: OperatorTask,
  policy: string,
  subject: Dimensions | undefined,
  settings: Readonly<Record<string, Value | null>>,
): Promise<void> {
  // No stop is of one route.
  if (!subject || 'route' in subject || settings['limit'] === 0 || 'until' in settings) return
  const stops = await stopsOf(limiter, subject)
  if (!stops.some((stop) => stop.policy === policy)) return
  refuse(`nothing is changed: ${await stopText(limiter, subject, words)}`, 'conflict')
}

/** Returns the subject if it is what a policy counts by, and no more. */
function partOf(
  subject: Dimensions | undefined,
  { name, per }: PolicyRule,
  { dimension }: OperatorWords,
): Dimensions | undefined {
  if (!subject) return undefined
  if (per === 'global')
    refuse(`"${name}" is one limit for everyone: leave out ${subjectText(subject)}`)
  const missing = per.find((one) => subject[one] === undefined)
  const countsBy = `"${name}" counts by ${per.join(' and ')}`
  if (missing !== undefined) refuse(`${countsBy}: add ${dimension(missing, 'NAME')}`)
  const others = Object.entries(subject).filter(([one]) => !per.includes(one))
  if (others.length === 0) return subject
  return refuse(`${countsBy}: leave out ${subjectText(Object.fromEntries(others))}`)
}

function valueOf(rule: PolicyRule, name: string, text: string, words: OperatorWords): Value {
  if (AMOUNTS.has(name)) return amountOf(text, rule, name, words)
  return /^\d+$/.test(text) ? Number(text) : text
}
