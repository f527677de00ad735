/* The stop of a tenant, or of a part of one. */
import { definitionOf, runtimeOf } from '../limiter/runtime.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { changeSettings } from './change-settings.ts'
import { fullSubject, lookInStore, settingsOf } from './look.ts'
import { type Dimensions, type OperatorAnswer, type OperatorTask, refuse } from './task.ts'
import { endOfStop, nameOf, stopsOf } from './stop-of.ts'
import { untilOf } from './until.ts'

/**
 * Denies everything of a subject, such as a tenant: sets each limit that counts by its dimensions alone, on all routes, to
 * 0, in one step.
 *
 * @param until A duration, or a time with a zone. @default '365d'
 * @throws OperatorError When no such limit may be changed, or none would deny.
 * @throws StoreError When the store fails.
 * @example
 * await stop(task, { tenant: 'acme' }, '24h')
 */
export async function stop(
  task: OperatorTask,
  subject: Dimensions,
  until = '365d',
): Promise<OperatorAnswer> {
  const { limiter, words } = task
  const end = untilOf(until, words)
  const policies = stoppablePolicies(task, subject)
  // Fails in the words of the store. A decision without it would have the code alone.
  await settingsOf(limiter, subject)
  const { policies: states } = await lookInStore(limiter, fullSubject(limiter, subject))
  const shadows = policies.filter(
    (name) => !states.some((state) => state.name === name && state.enforced),
  )
  if (shadows.length === policies.length)
    refuse(
      `${shadows.join(', ')} would deny nothing, in shadow mode: set mode=enforce for one of them first`,
      'conflict',
    )
  // A change with an end: the settings of before apply again, and `sluice apply` leaves it.
  const changes = Object.fromEntries(policies.map((name) => [name, { limit: 0, until: end }]))
  return changeSettings(task, changes, subject)
}

/**
 * Ends the stop of a subject: its settings of before apply again, those for a time until their end, or those of the code.
 *
 * @throws OperatorError When no limit of the subject may be changed.
 * @throws StoreError When the store fails.
 * @example
 * await start(task, { tenant: 'acme' })
 */
export async function start(task: OperatorTask, subject: Dimensions): Promise<OperatorAnswer> {
  const { limiter } = task
  const policies = stoppablePolicies(task, subject)
  const stopped = (await stopsOf(limiter, subject)).filter(({ policy }) =>
    policies.includes(policy),
  )
  if (stopped.length === 0) {
    const text = `${nameOf(subject)} is not stopped.`
    return { text, json: { subject, policies: [], made: false } }
  }
  const changes = await Promise.all(
    stopped.map(async ({ policy }) => [policy, await endOfStop(limiter, policy, subject)] as const),
  )
  return changeSettings(task, Object.fromEntries(changes), subject)
}

/**
 * Lists the policies that count by the dimensions of a subject alone, on all routes, and whose limit may be changed at run
 * time: with a limit of 0, each denies the subject what it counts, and others nothing.
 *
 * @throws OperatorError When there is none.
 */
function stoppablePolicies(
  { limiter, words: { file } }: OperatorTask,
  subject: Dimensions,
): readonly string[] {
  const { extensions } = runtimeOf(limiter)
  const { rules } = definitionOf(limiter)
  const dimensions = Object.keys(subject)
  const own = namesOf(
    rules.filter(
      ({ per, routes, balance }) =>
        // A limit of a balance is its allowance: without one, what was granted is spent on.
        String(per) === String(dimensions) && routes === undefined && !balance,
    ),
  )
  const names = own.filter((name) => extensions.some(({ configures }) => configures(name, 'limit')))
  if (names.length > 0) return names
  const whose = dimensions.at(-1)
  return refuse(
    own.length > 0
      ? `no limit of a ${whose} may be changed: allow the limit of ${own.join(', ')} by runtimeConfiguration in ${file}`
      : `no policy counts by ${dimensions.join(' and ')} alone, on all routes, but ${namesOf(rules).join(', ')}: add one per ['${dimensions.join("', '")}'] to ${file}, and allow its limit by runtimeConfiguration`,
  )
}

const namesOf = (rules: readonly PolicyRule[]): string[] => [
  ...new Set(rules.map(({ name }) => name)),
]
