/* Asks the databases behind a limiter whether they write, and whether they delete keys when they are full. */
import {
  definitionOf,
  StoreError,
  type Limiter,
  type LuaOperationKind,
  type StoreErrorCode,
} from '@sluice/core'
import { runtimeOf, writeOperation } from '@sluice/core/internal/limiter'
import { readOnce } from '../shared-store.ts'
import { findingsAmong, type Finding } from './finding.ts'

/** Failures of a database that is down, or cannot be reached. */
const DEAD: ReadonlySet<string> = new Set(['store_unreachable', 'store_timeout'])

/** Remedies, by the reason for which Redis refuses a write. */
const REMEDIES: Readonly<Record<string, string>> = {
  OOM: 'give it more memory, and delete nothing: a deleted key is a full budget',
  READONLY: 'use the address of the primary: this is a replica',
  NOREPLICAS: 'start its replicas again, or lower min-replicas-to-write',
  MISCONF: 'look at its log and its disk: it cannot save',
  NOPERM:
    'let its user run the commands that the page "Going to production" lists, on the keys of the store',
}

interface Answer {
  /** The code word of a refused write. Empty if it was done. */
  readonly refusal: string
  /** The eviction policy of a Redis: empty if its user may not ask for it. */
  readonly eviction?: string | undefined
  /** The failure of a database that did not answer. */
  readonly failure?: StoreErrorCode
  /** The place that refused, if the store has several. */
  readonly place?: string | undefined
}

/** Writes a record and reads the eviction policy, in Redis. Other stores do not know this operation. */
const ASK: LuaOperationKind<Answer | undefined> = {
  name: 'doctor.ask',
  run: () => undefined,
  lua: {
    script: () => `local written = redis.pcall('HSET', KEYS[1], 'at', '1')
if type(written) == 'number' then written = redis.pcall('PEXPIRE', KEYS[1], 1) end
local info = redis.pcall('INFO', 'memory')
return { 'doctor', type(written) == 'table' and written.err or '',
  type(info) == 'string' and string.match(info, 'maxmemory_policy:(%S+)') or '' }`,
    args: () => [],
    parse: (reply) => {
      const [by, refusal, eviction] = reply as readonly string[]
      // A cache may answer with the reply of another call.
      return by === 'doctor' ? { result: { refusal: refusal ?? '', eviction } } : undefined
    },
  },
}

/** The tenants to ask for where each has a database of several: with 16 databases, one is missed once in 15 million. */
const TENANTS = Array.from({ length: 256 }, (_, index) => `sluice-doctor-${index}`)

/** The findings of all databases, and the questions that they did not answer. */
export interface DatabaseReport {
  readonly findings: readonly Finding[]
  readonly unknown: readonly string[]
}

/**
 * Returns why the store refuses a write for a subject, such as `OOM`; `undefined` if it writes. Looks at no limit: a full
 * database answers reads, and no decision that charges.
 */
export async function writeRefusal(
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const dimensions = Object.entries(subject).map(([name, value]) => `${name}=${value}`)
  const { refusal } = await answerAt(limiter, ['doctor', ...dimensions].join(':'))
  return refusal || undefined
}

/** Writes a record under a key for a millisecond. Redis also says why it does not, and whether it evicts. */
async function answerAt(limiter: Limiter, key: string): Promise<Answer> {
  const { store, clock, clockIsInjected } = runtimeOf(limiter)
  const startedAt = Date.now()
  try {
    const answer = await store.run({ kind: ASK, keys: [key], data: undefined, startedAt })
    if (answer) return { ...answer, refusal: answer.refusal && wordOf(answer.refusal) }
  } catch (error) {
    const { code } = error as StoreError
    if (DEAD.has(code)) return { refusal: '', failure: code }
  }
  const writes = [{ key, set: { at: '1' }, ttlMs: 1 }]
  try {
    await store.run(writeOperation({ now: clock(), clockIsInjected, writes }, startedAt))
  } catch (error) {
    // Decisions have found other failures.
    if (error instanceof StoreError && error.code === 'store_refused') {
      return { refusal: wordOf(error.word ?? ''), place: error.place }
    }
  }
  return { refusal: '' }
}

/** Returns what each database in which the limiter counts says of itself. Writes records for a millisecond. */
export async function judgeDatabase(limiter: Limiter): Promise<DatabaseReport> {
  const dimensions = definitionOf(limiter).rules.flatMap(({ per }) => (per === 'global' ? [] : per))

  const keyOf = (tenant: string): string =>
    ['doctor', ...new Set(dimensions.map((name) => `${name}=${tenant}`))].join(':')

  async function ask(tenant: string): Promise<Answer> {
    const key = keyOf(tenant)
    const answer = await answerAt(limiter, key)
    if (!answer.refusal || answer.place !== undefined) return answer
    return { ...answer, place: (await readOnce(limiter, key)).place }
  }

  /** Returns true if the store has several places. A dead one does not say so, but others do. */
  async function hasPlaces(among: readonly string[]): Promise<boolean> {
    for (const tenant of among) if ((await readOnce(limiter, keyOf(tenant))).place) return true
    return false
  }

  const first = await ask('sluice-doctor')
  const isRedis = (first.eviction ?? first.failure) !== undefined
  const hasSeveral = isRedis && (await hasPlaces(TENANTS.slice(0, first.failure ? 8 : 1)))
  const answers = hasSeveral ? await Promise.all(TENANTS.map(ask)) : [first]
  return {
    findings: findingsAmong([
      failureAmong(answers),
      ...refusals(answers),
      evictionAmong(answers, limiter),
    ]),
    unknown: unknown(answers),
  }
}

/** Returns a finding if some databases do not answer: decisions have found it if none does. */
function failureAmong(answers: readonly Answer[]): Finding | undefined {
  const failed = answers.filter(({ failure }) => failure !== undefined)
  if (failed.length === 0) return undefined
  return {
    code: 'store_unreachable',
    text: `a database does not answer (${failed[0]?.failure}), where ${failed.length} of ${answers.length} tenants are counted`,
    remedy: 'start it again, or look whether this machine may reach each of them',
  }
}

/** Returns a finding for each reason for which a database refuses to write. */
function refusals(answers: readonly Answer[]): Finding[] {
  const tenants = new Map<string, number>()
  for (const { refusal, place = '' } of answers) {
    if (refusal === '') continue
    // A place that is named after a tenant is in a node without a name.
    const cause = `${place.includes('=') ? '' : place} ${refusal}`
    tenants.set(cause, (tenants.get(cause) ?? 0) + 1)
  }
  return Array.from(tenants, ([cause, count]) => {
    const [name = '', reason = ''] = cause.split(/ (.*)/)
    const part =
      count < answers.length ? `where ${count} of ${answers.length} tenants are counted` : ''
    return {
      code: 'store_read_only',
      text: `the database${[' ', name || part].join('').trimEnd()} refuses to write (${reason}): onStoreError decides what would be allowed`,
      remedy: REMEDIES[reason] ?? 'look at its log',
    }
  })
}

/** Returns the code word of a refusal of Redis. Within a script, Redis 7 has another text for NOPERM, and older ones have a prefix. */
const wordOf = (refusal: string): string =>
  /can't (?:run|access)/.test(refusal)
    ? 'NOPERM'
    : (/\b(?!ERR\b)[A-Z]{3,}\b/.exec(refusal)?.[0] ?? 'an error')

function evictionAmong(answers: readonly Answer[], limiter: Limiter): Finding | undefined {
  const policy = answers.find(({ eviction }) => eviction && eviction !== 'noeviction')?.eviction
  if (policy === undefined) return undefined
  const remedy = 'turn eviction off: on a Redis of your own, CONFIG SET maxmemory-policy noeviction'
  const text = `a full database deletes keys (maxmemory-policy ${policy}): a deleted key is a full budget`
  const { rules } = definitionOf(limiter)
  const balances = rules.filter(({ algorithm }) => algorithm.traits?.balance)
  if (balances.length === 0) return { code: 'eviction_on', text, remedy }
  // The ids of grants have an end, and balances have none.
  const loss = policy.startsWith('volatile')
    ? 'the ids of grants are among them, and a grant that is repeated after that counts twice'
    : 'balances are among them, the one count without an end, and a deleted balance is money that is gone'
  const names = balances.map(({ name }) => name).join(', ')
  return {
    code: 'credits_evicted',
    text: `${text}. Of ${names}, ${loss}`,
    remedy: `${remedy}. An export brings a lost balance back: sluice credits import FILE`,
  }
}

const unknown = (answers: readonly Answer[]): string[] =>
  answers.some(({ eviction }) => eviction === '')
    ? ['whether a full database deletes keys: its user may not run INFO (+info)']
    : []
