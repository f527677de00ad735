import { subjectText, timeText } from '@sluice/core/internal/text'
import { definitionOf, durationMs, StoreError, type Limiter } from '@sluice/core'
import {
  createApiKey,
  expireApiKey,
  listApiKeys,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type NewApiKey,
} from '@sluice/core/api-keys'
import { CHANGED, unchanged } from '../change-text.ts'
import { entryOf, optionNames, textOf, type Command, type Result, type Values } from '../command.ts'
import { refuse } from '../errors.ts'
import { table } from '../format.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { assertShared } from '../shared-store.ts'
import { assertNotRefused } from '../store-refusal.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'

export const keys: Command = {
  summary: "make, replace and end a tenant's API keys",
  usage: `Usage: sluice keys --tenant NAME [options]
       sluice keys create --tenant NAME [--expires DURATION] [--yes] [options]
       sluice keys rotate KEY [--overlap DURATION] [--expires DURATION] [--yes] [options]
       sluice keys expire KEY --in DURATION [--yes] [options]
       sluice keys revoke KEY [--yes] [options]

Lists the API keys of a tenant, or changes them: those that apiKeys() of @sluice/core/api-keys accepts. KEY is the name
of a key, such as key_0123456789abcdef. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --expires DURATION    how long a new key is valid, such as 90d (default: until it is revoked; in place of another,
                        as long as that was made for)
  --overlap DURATION    how long the old key stays valid beside the new one; 0 ends it at once (default: 1d)
  --in DURATION         how long a key stays valid, from now; 0 ends it
  --prefix TEXT         what a new key begins with (default: sk_)
  --yes                 make the change
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, positionals, { folder }) {
    const [name = 'list', id, ...others] = positionals
    const action = entryOf(ACTIONS, name, 'action', ' of sluice keys')
    if (others.length > 0 || (id !== undefined) !== action.needsKey) {
      const rule = action.needsKey ? 'needs the name of one key' : 'takes no name of a key'
      refuse(`sluice keys ${name} ${rule}. List them: sluice keys --tenant NAME`)
    }
    // A key in place of its name is not repeated: what is printed is kept in logs.
    if (id !== undefined && !NAME.test(id))
      refuse(
        `sluice keys ${name} needs the name of a key, such as key_0123456789abcdef, and no other text. List them: sluice keys --tenant NAME`,
      )
    const stray = Object.keys(values).find((one) => OWN.has(one) && !action.takes.includes(one))
    if (stray !== undefined) refuse(`--${stray} is not for sluice keys ${name}`)
    const call = { values, id: id ?? '', isMade: values['yes'] === true }
    const { limiter } = await limiterFor(values, folder)
    if (call.isMade) await assertShared(limiter)
    try {
      return await action.run(limiter, call)
    } catch (error) {
      await assertNotRefused(limiter, (error as { readonly code?: string }).code)
      throw error
    }
  },
}

const NAME = /^key_[0-9a-f]{16}$/

interface Call {
  readonly values: Values
  /** The name of a key. Empty for an action that needs none. */
  readonly id: string
  /** False to show what would change. */
  readonly isMade: boolean
}

interface Action {
  readonly needsKey: boolean
  /** Of the options that not all actions have. */
  readonly takes: readonly string[]
  readonly run: (limiter: Limiter, call: Call) => Promise<Result>
}

const OWN = new Set([...optionNames(SUBJECT_USAGE), 'expires', 'overlap', 'in', 'prefix', 'yes'])

const ACTIONS: Readonly<Record<string, Action>> = {
  list: { needsKey: false, takes: ['tenant'], run: list },
  create: {
    needsKey: false,
    takes: [...optionNames(SUBJECT_USAGE), 'expires', 'prefix', 'yes'],
    run: create,
  },
  rotate: { needsKey: true, takes: ['overlap', 'expires', 'prefix', 'yes'], run: rotate },
  expire: { needsKey: true, takes: ['in', 'yes'], run: expire },
  revoke: { needsKey: true, takes: ['yes'], run: revoke },
}

async function list(limiter: Limiter, { values }: Call): Promise<Result> {
  const found = await listApiKeys(limiter, tenantOf(values))
  const rows = found.map((key) => [
    key.id,
    subjectText(key.subject),
    timeText(key.createdAt),
    endText(key) ?? 'never',
    key.lastUsedAt === undefined ? 'never' : timeText(key.lastUsedAt),
  ])
  return {
    text: table(['key', 'subject', 'created', 'expires', 'last used'], rows),
    json: { keys: found },
  }
}

async function create(limiter: Limiter, { values, isMade }: Call): Promise<Result> {
  tenantOf(values)
  const subject = subjectOf(values) ?? {}
  const { plans } = definitionOf(limiter)
  const { plan } = subject
  if (plan !== undefined && plans && !plans.names.includes(plan))
    refuse(`there is no plan "${plan}"; there are ${plans.names.join(', ')}`)
  const options = newKeyOptions(values)
  if (!isMade) {
    const text = `A key of ${subjectText(subject)}\nNothing is made. Add --yes to make it.`
    return { text, json: { subject, made: false } }
  }
  const created = await createApiKey(limiter, subject, options)
  return { text: newKeyText(created), json: { ...created, made: true } }
}

async function rotate(limiter: Limiter, { values, id, isMade }: Call): Promise<Result> {
  const options = newKeyOptions(values)
  const overlap = lengthOf(values, 'overlap') ?? '1d'
  const old = await find(limiter, id)
  assertReplaceable(old)
  const end = `${id} (${subjectText(old.subject)}): replaced; the old one expires ${overlapText(old, overlap)}`
  if (!isMade) return { text: `${end}\n${unchanged()}`, json: { old, made: false } }
  const created = await rotateApiKey(limiter, id, { overlap, ...options }).catch((error) => {
    if (!(error instanceof StoreError)) throw error
    refuse(
      `the store failed, and ${id} may have been replaced. List the keys: sluice keys --tenant ${old.subject.tenant}. If it was replaced, rotate the new one, which nobody has`,
    )
  })
  return { text: `${end}\n${newKeyText(created)}`, json: { ...created, old, made: true } }
}

async function expire(limiter: Limiter, { values, id, isMade }: Call): Promise<Result> {
  const within = lengthOf(values, 'in')
  if (within === undefined) refuse('name when it expires, such as --in 1h')
  const old = await find(limiter, id)
  const text = `${id} (${subjectText(old.subject)}): expires ${within === 0 ? 'at once' : `in ${within}`}`
  if (!isMade) return { text: `${text}\n${unchanged()}`, json: { key: old, made: false } }
  const key = await expireApiKey(limiter, id, within)
  const isSooner = old.expiresAt !== undefined && old.expiresAt === key.expiresAt
  return {
    text: isSooner ? `${id} already expires sooner: ${endText(key)}` : `${text}\n${CHANGED}`,
    json: { key, made: !isSooner },
  }
}

async function revoke(limiter: Limiter, { id, isMade }: Call): Promise<Result> {
  const key = await find(limiter, id)
  const used = key.lastUsedAt === undefined ? 'never used' : `last used ${timeText(key.lastUsedAt)}`
  const text = `${id} (${subjectText(key.subject)}): revoked; ${used}`
  if (isMade) await revokeApiKey(limiter, id)
  return { text: `${text}\n${isMade ? CHANGED : unchanged()}`, json: { key, made: isMade } }
}

/** @throws CommandError When there is no key of this name. */
const find = async (limiter: Limiter, id: string): Promise<ApiKey> =>
  (await readApiKey(limiter, id)) ??
  refuse(`there is no key ${id}. List them: sluice keys --tenant NAME`)

/** @throws CommandError When it has been replaced, or has expired. */
function assertReplaceable({ id, replacedBy, expiresAt = Infinity }: ApiKey): void {
  if (replacedBy !== undefined) {
    const others = `rotate ${replacedBy}, which has replaced it, or create another`
    refuse(`${id} was rotated: ${others}`)
  }
  if (expiresAt <= Date.now()) refuse(`${id} has expired: create another`)
}

/** Returns a duration, or 0 for at once. */
const lengthOf = (values: Values, option: string) =>
  values[option] === '0' ? 0 : timeOf(values, option)

function overlapText(old: ApiKey, overlap: string | 0): string {
  if (overlap === 0) return 'at once'
  const isSooner = (old.expiresAt ?? Infinity) < Date.now() + durationMs('overlap', overlap)
  return isSooner ? `at ${endText(old)}, before ${overlap} is over` : `in ${overlap}`
}

const tenantOf = (values: Values): string =>
  textOf(values, 'tenant') || refuse('name whose keys, such as --tenant acme')

function newKeyOptions(values: Values) {
  const [expiresIn, prefix] = [timeOf(values, 'expires'), textOf(values, 'prefix')]
  return { ...(expiresIn && { expiresIn }), ...(prefix !== undefined && { prefix }) }
}

/** Returns a duration as the functions take it. @throws CommandError */
function timeOf(values: Values, name: string): `${number}d` | undefined {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  try {
    durationMs(name, text)
    return text as `${number}d`
  } catch {
    return refuse(`--${name} ${text} must be a duration, such as 12h or 90d, of at most 366 days`)
  }
}

const endText = ({ expiresAt }: ApiKey): string | undefined =>
  expiresAt === undefined ? undefined : timeText(expiresAt)

function newKeyText(created: NewApiKey): string {
  const end = endText(created)
  const facts = `${created.id} (${subjectText(created.subject)})${end === undefined ? '' : `, until ${end}`}`
  return `${created.key}\n${facts}\nCopy the key now: only its SHA-256 is kept.`
}
