import type {
  Extension,
  ExtensionOptions,
  Contribution,
  TrackedRecord,
} from '../limiter/extensions.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import type { SettingsLookup } from '../limiter/resolve.ts'
import type { PolicyRule } from '../policies/policy.ts'
import {
  changedText,
  entriesIn,
  placeOf,
  readEntries,
  type Configured,
  type Reading,
  type Rules,
} from './document.ts'
import { ConfigurationRecord } from './record.ts'
import { dimensionsOf, validChanges, type ConfigurationChanges } from './changes.ts'
import { ConfigError } from '../errors.ts'
import { meaningOf, SETTINGS, type Setting, type Settings } from './settings.ts'
import { lacksDimension, type Subject } from '../subject.ts'
import {
  assertKnownOptions,
  assertOneOf,
  assertOptions,
  assertName,
} from '../internal/validation.ts'
import { singleFlight } from '../internal/single-flight.ts'
import { clockMovedBack, FRESH_MS } from '../internal/freshness.ts'

/** Options of `runtimeConfiguration`. */
export interface RuntimeConfigurationOptions {
  /** What may be set of which policies, by their names. */
  readonly allow: Readonly<Record<string, readonly Setting[]>>
  /** Names it in the store. Limiters of one name share what is set. @default 'default' */
  readonly name?: string
}

/** The part of a configuration that belongs to one limiter. */
export interface ConfigurationHandle {
  configure(changes: ConfigurationChanges, subject: Subject | undefined): Promise<void>
  configured(): Promise<readonly Configured[]>
  /** Removes what is set for the partitions of `subject`. */
  remove(policies: readonly PolicyRule[], subject: Subject): Promise<void>
}

/** The extension's name, which its functions find it by. */
export const CONFIGURATION = 'configuration'

interface Known {
  readonly version: string | undefined
  readonly byPlace: Reading['byPlace']
}

/**
 * Lets limits be changed while the app runs, by `configure`: those that it lists, and no
 * others. What is set is kept in the store, in the hash `config:<name>`; isolates look there every 5
 * seconds, along with a decision.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
 *   extensions: [runtimeConfiguration({ allow: { rpm: ['limit', 'mode'] } })],
 * })
 * await configure(limiter, { rpm: { limit: 30 } })
 */
export function runtimeConfiguration(options: RuntimeConfigurationOptions): Extension {
  const where = 'runtimeConfiguration'
  assertKnownOptions(where, options, ['allow', 'name'])
  const name = assertName(`${where}.name`, options.name ?? 'default')
  const allowed = allowedIn(`${where}.allow`, options.allow)

  const connect: ExtensionOptions['connect'] = ({ policies, clock, records, problem }) => {
    const rules = rulesFor(allowed, policies)
    const record = new ConfigurationRecord(records, name)
    let known: Known | undefined
    let isCurrent = false
    let reliableUntil = 0
    let changesMade = 0

    function complain(what: string): void {
      const message = `The configuration "${name}" in the store: ${what}; it is ignored`
      problem({ code: 'invalid_configuration', message })
    }

    const read = (text: string | undefined): Promise<Reading> =>
      readEntries(entriesIn(text, complain), rules, complain)

    async function load(startedAt: number): Promise<Known> {
      const [since, changesBefore] = [clock(), changesMade]
      const { version, text } = await record.read(startedAt)
      const loaded = { version, byPlace: (await read(text)).byPlace }
      // What this isolate has changed meanwhile may not be in it.
      if (changesMade === changesBefore) {
        known = loaded
        isCurrent = true
        reliableUntil = since + FRESH_MS
      }
      return loaded
    }

    const loadOnce = singleFlight(load, () => (isCurrent ? known : undefined))

    function track(used: Known): TrackedRecord {
      const since = clock()
      const update = (version: string | undefined): boolean => {
        if (known === used) {
          isCurrent = version === used.version
          if (!isCurrent) return true
          const until = clockMovedBack(reliableUntil, clock()) ? 0 : reliableUntil
          reliableUntil = Math.max(until, since + FRESH_MS)
        }
        return version !== used.version
      }
      return { field: record.version, update }
    }

    async function change(edit: (text: string | undefined) => string): Promise<void> {
      try {
        await record.change(edit)
      } finally {
        // Even where the answer was lost: the next decision looks.
        changesMade += 1
        isCurrent = false
      }
    }

    async function before(startedAt: number): Promise<Contribution> {
      let used = known
      try {
        used = await loadOnce(startedAt)
      } catch (failure) {
        return { settings: settingsOf(used), failure }
      }
      return preparation(used)
    }

    /** What is known, with the store's version to read along unless it is fresh. */
    function preparation(used: Known): Contribution {
      const now = clock()
      const isKnown = used === known && isCurrent
      const isFresh = isKnown && now < reliableUntil && !clockMovedBack(reliableUntil, now)
      return { settings: settingsOf(used), ...(!isFresh && { reads: [track(used)] }) }
    }

    const handle: ConfigurationHandle = {
      async configure(changes, subject) {
        const valid = await validChanges(changes, subject, rules)
        await change((text) => changedText(entriesIn(text, complain), valid))
      },

      configured: async () => (await read((await record.read()).text)).configured,

      async remove(own, subject) {
        const changes = own.flatMap(({ name: policy, per }) => {
          const rule = rules.get(policy)
          if (!rule || per === 'global' || lacksDimension(subject, per)) return []
          return [{ rule, subject: dimensionsOf(subject, per), changes: null }]
        })
        if (changes.length === 0) return
        await change((text) => changedText(entriesIn(text, complain), changes))
      },
    }

    return {
      before: ({ startedAt }) => (known && isCurrent ? preparation(known) : before(startedAt)),
      maxWaitMs: MAX_WAIT_MS,
      configures: (policy, setting) => allowed.get(policy)?.some((one) => one === setting) === true,
      handle,
    }
  }

  return defineExtension({ name: CONFIGURATION, connect })
}

/** A load takes as long as the store may take, and a wait for another's. */
const MAX_WAIT_MS = 61_000

type Allowed = ReadonlyMap<string, readonly Setting[]>

function allowedIn(option: string, allow: unknown): Allowed {
  assertOptions(option, allow)
  const allowed = new Map<string, readonly Setting[]>()
  for (const [policy, settings] of Object.entries(allow)) {
    const where = `${option}.${assertName(`${option}.${policy}`, policy)}`
    const list: unknown[] = Array.isArray(settings) ? settings : []
    if (list.length === 0) {
      const known = SETTINGS.map((setting) => `"${setting}"`).join(', ')
      throw new ConfigError('invalid_option', where, `must be a list of at least one of ${known}`)
    }
    allowed.set(
      policy,
      list.map((setting) => assertOneOf(where, setting, SETTINGS)),
    )
  }
  if (allowed.size > 0) return allowed
  throw new ConfigError('invalid_option', option, 'must name at least one policy')
}

function rulesFor(allowed: Allowed, policies: readonly PolicyRule[]): Rules {
  const byName = new Map(policies.map((policy) => [policy.name, policy]))
  return new Map(
    Array.from(allowed, ([name, settings]) => {
      const where = `configuration.allow.${name}`
      const policy = byName.get(name)
      if (!policy) throw new ConfigError('invalid_option', where, 'names no policy of the limiter')
      if (settings.includes('burst') && policy.burst === undefined) {
        throw new ConfigError('invalid_option', where, 'must not list "burst": it is no bucket')
      }
      return [name, { policy, allowed: settings }]
    }),
  )
}

/** A partition's settings come before its policy's, one by one. */
function settingsOf(known: Known | undefined): SettingsLookup {
  return ({ name, keyspace }, partition) => {
    const all = known?.byPlace.get(placeOf(name))
    const own = known?.byPlace.get(placeOf(name, partition))
    const settings: Settings | undefined = all && own ? { ...all, ...own } : (own ?? all)
    return settings && meaningOf(settings, keyspace?.name ?? name, partition)
  }
}
