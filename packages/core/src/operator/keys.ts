/* API keys: made, replaced and ended. */
import {
  createApiKey,
  expireApiKey,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
  type NewApiKey,
} from '../api-keys/manage.ts'
import { planApiKey } from '../api-keys/plan.ts'
import type { ApiKey } from '../api-keys/record.ts'
import { StoreError } from '../errors.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { subjectText, timeText } from '../internal/text.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { definitionOf } from '../limiter/runtime.ts'
import {
  changeAnswer,
  type Dimensions,
  type OperatorAnswer,
  type OperatorTask,
  type OperatorWords,
  refuse,
} from './task.ts'

/** A new key, as an operator writes it. */
export interface NewKeyTexts {
  /** The time for which it is valid, such as `90d`. @default until it is revoked, or as long as the key that it replaces */
  readonly expires?: string | undefined
  /** Its beginning. @default 'sk_' */
  readonly prefix?: string | undefined
}

/**
 * Makes a key of a tenant.
 *
 * @throws OperatorError When the plan does not exist, or a text is not a duration.
 * @throws StoreError When the store fails.
 * @example
 * const { json } = await createKey(task, { tenant: 'acme', plan: 'growth' }, { expires: '90d' })
 */
export async function createKey(
  { limiter, words, confirm }: OperatorTask,
  subject: Dimensions,
  texts: NewKeyTexts = {},
): Promise<OperatorAnswer> {
  assertPlan(limiter, subject['plan'])
  const options = newKeyOptions(words, texts)
  if (!confirm) {
    const text = `A key of ${subjectText(subject)}\nNothing is made. Add ${words.option('yes', true)} to make it.`
    return { text, json: { subject, made: false } }
  }
  await confirm()
  const created = await createApiKey(limiter, subject, options)
  return { text: newKeyText(created), json: { ...created, made: true } }
}

/**
 * Replaces a key by a new one, beside which the old one stays valid for a time.
 *
 * @param overlap That time; `0` ends it at once. @default '1d'
 * @throws OperatorError When the key does not exist, was replaced, or has expired.
 * @throws StoreError When the store fails.
 * @example
 * const { json } = await replaceKey(task, 'key_0123456789abcdef', {}, '7d')
 */
export async function replaceKey(
  task: OperatorTask,
  id: string,
  texts: NewKeyTexts = {},
  overlap?: string,
): Promise<OperatorAnswer> {
  const { limiter, words, confirm } = task
  const options = newKeyOptions(words, texts)
  const length = lengthOf(words, 'overlap', overlap) ?? '1d'
  const old = await find(task, id)
  assertReplaceable(old)
  const end = `${id} (${subjectText(old.subject)}): replaced; the old one expires ${overlapText(old, length)}`
  if (!confirm) return changeAnswer(task, [end], { old })
  await confirm()
  const created = await rotateApiKey(limiter, id, { overlap: length, ...options }).catch(
    (error) => {
      if (!(error instanceof StoreError)) throw error
      refuse(
        `the store failed, and ${id} may have been replaced. List the keys: ${words.keysOf(old.subject['tenant'] ?? '')}. If it was replaced, rotate the new one, which nobody has`,
        'conflict',
      )
    },
  )
  return { text: `${end}\n${newKeyText(created)}`, json: { ...created, old, made: true } }
}

/**
 * Lets a key expire. One that expires sooner stays as it is.
 *
 * @param within A duration from now; `0` is at once.
 * @throws OperatorError When the key does not exist, or the time is not a duration.
 * @throws StoreError When the store fails.
 * @example
 * await endKey(task, 'key_0123456789abcdef', '1h')
 */
export async function endKey(
  task: OperatorTask,
  id: string,
  within: string | undefined,
): Promise<OperatorAnswer> {
  const { limiter, words, confirm } = task
  const length = lengthOf(words, 'in', within)
  if (length === undefined) refuse(`name when it expires, such as ${words.option('in', '1h')}`)
  const old = await find(task, id)
  const text = `${id} (${subjectText(old.subject)}): expires ${length === 0 ? 'at once' : `in ${length}`}`
  if (!confirm) return changeAnswer(task, [text], { key: old })
  await confirm()
  const key = await expireApiKey(limiter, id, length)
  if (old.expiresAt === undefined || old.expiresAt !== key.expiresAt)
    return changeAnswer(task, [text], { key })
  return { text: `${id} already expires sooner: ${endText(key)}`, json: { key, made: false } }
}

/**
 * Changes the plan of a key.
 *
 * @throws OperatorError When the key or the plan does not exist.
 * @throws StoreError When the store fails.
 * @example
 * await planKey(task, 'key_0123456789abcdef', 'growth')
 */
export async function planKey(
  task: OperatorTask,
  id: string,
  plan: string,
): Promise<OperatorAnswer> {
  const { limiter, confirm } = task
  assertPlan(limiter, plan)
  const old = await find(task, id)
  const text = `${id} (${subjectText(old.subject)}): plan ${old.subject['plan'] ?? 'none'} -> ${plan}`
  await confirm?.()
  return changeAnswer(task, [text], { key: confirm ? await planApiKey(limiter, id, plan) : old })
}

/**
 * Removes a key at once.
 *
 * @throws OperatorError When the key does not exist.
 * @throws StoreError When the store fails.
 * @example
 * await removeKey(task, 'key_0123456789abcdef')
 */
export async function removeKey(task: OperatorTask, id: string): Promise<OperatorAnswer> {
  const key = await find(task, id)
  const used = key.lastUsedAt === undefined ? 'never used' : `last used ${timeText(key.lastUsedAt)}`
  const text = `${id} (${subjectText(key.subject)}): revoked; ${used}`
  await task.confirm?.()
  if (task.confirm) await revokeApiKey(task.limiter, id)
  return changeAnswer(task, [text], { key })
}

/** Finds a key of a task. @throws OperatorError When there is none of this name. */
async function find(
  { limiter, words, mayManage = () => true }: OperatorTask,
  id: string,
): Promise<ApiKey> {
  const key = await readApiKey(limiter, id)
  if (key && mayManage(key)) return key
  return refuse(`there is no key ${id}. List them: ${words.keysOf('NAME')}`, 'absent')
}

/** @throws OperatorError When a limiter has plans, and none of this name. */
function assertPlan(limiter: Limiter, plan: string | undefined): void {
  const { plans } = definitionOf(limiter)
  if (plan !== undefined && plans && !plans.names.includes(plan))
    refuse(`there is no plan "${plan}"; there are ${plans.names.join(', ')}`)
}

/** @throws OperatorError When it has been replaced, or has expired. */
function assertReplaceable({ id, replacedBy, expiresAt = Infinity }: ApiKey): void {
  if (replacedBy !== undefined) {
    const others = `rotate ${replacedBy}, which has replaced it, or create another`
    refuse(`${id} was rotated: ${others}`, 'conflict')
  }
  if (expiresAt <= Date.now()) refuse(`${id} has expired: create another`, 'conflict')
}

/** Returns a duration, or 0 for at once. */
const lengthOf = (words: OperatorWords, name: string, text: string | undefined) =>
  text === '0' ? 0 : timeOf(words, name, text)

function overlapText(old: ApiKey, overlap: Duration): string {
  if (overlap === 0) return 'at once'
  const isSooner = (old.expiresAt ?? Infinity) < Date.now() + durationMs('overlap', overlap)
  return isSooner ? `at ${endText(old)}, before ${overlap} is over` : `in ${overlap}`
}

function newKeyOptions(words: OperatorWords, { expires, prefix }: NewKeyTexts) {
  const expiresIn = timeOf(words, 'expires', expires)
  return { ...(expiresIn && { expiresIn }), ...(prefix !== undefined && { prefix }) }
}

/** Returns a duration as the functions take it. @throws OperatorError */
function timeOf(
  { option }: OperatorWords,
  name: string,
  text: string | undefined,
): `${number}d` | undefined {
  if (text === undefined) return undefined
  try {
    durationMs(name, text)
    return text as `${number}d`
  } catch {
    return refuse(
      `${option(name, text)} must be a duration, such as 12h or 90d, of at most 366 days`,
    )
  }
}

const endText = ({ expiresAt }: ApiKey): string | undefined =>
  expiresAt === undefined ? undefined : timeText(expiresAt)

function newKeyText(created: NewApiKey): string {
  const end = endText(created)
  const facts = `${created.id} (${subjectText(created.subject)})${end === undefined ? '' : `, until ${end}`}`
  return `${created.key}\n${facts}\nCopy the key now: only its SHA-256 is kept.`
}
