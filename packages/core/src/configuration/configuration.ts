import type { PolicySettings } from '../entries.ts'
import type { Policy } from '../policy.ts'
import {
  changedText,
  entriesIn,
  placeOf,
  readEntries,
  type Configured,
  type Reading,
  type Rules,
} from './configuration-document.ts'
import { ConfigurationRecord } from './configuration-record.ts'
import { dimensionsOf, validChanges, type ConfigurationChanges } from './configuration-changes.ts'
import { ConfigError } from '../errors.ts'
import { SETTINGS, type Setting } from './settings.ts'
import { lacksDimension, type Subject } from '../subject.ts'
import { knownOptions, oneOf, optionsObject, plainName } from '../validate.ts'
import { isSetBack, oneForAll, RELY_MS, type Lent, type Watch } from '../watch.ts'

/** Options of `runtimeConfiguration`. */
export interface RuntimeConfigurationOptions {
  /** What may be set of which policies, by their names. */
  readonly allow: Readonly<Record<string, readonly Setting[]>>
  /** Names it in the store. Limiters of one name share what is set. @default 'default' */
  readonly name?: string
}

/** What may be set at run time. Made by `runtimeConfiguration`. */
export interface RuntimeConfiguration {
  /** Whether a setting of a policy may be set. */
  allows(policy: string, setting: Setting): boolean
  /** Makes the part that belongs to one limiter. @throws ConfigError When it is not for these policies. */
  connect(lent: Lent, policies: readonly Policy[]): LimiterConfiguration
}

/** A limiter's configuration. */
export interface LimiterConfiguration {
  /** What applies now. Does not throw. */
  current(): Promise<CurrentSettings>
  configure(changes: ConfigurationChanges, subject: Subject | undefined): Promise<void>
  configured(): Promise<readonly Configured[]>
  /** Removes what is set for the partitions of `subject`. */
  forget(policies: readonly Policy[], subject: Subject): Promise<void>
}

/** What is set, as far as an isolate knows. */
export interface CurrentSettings {
  readonly settings: (policy: Policy, partition: string) => PolicySettings | undefined
  /** What to read along with the decision. */
  readonly watch?: Watch
  /** How the store has just failed, so that there is no use in asking it again. */
  readonly failed?: unknown
}

interface Known {
  readonly version: string | undefined
  readonly byPlace: Reading['byPlace']
}

/**
 * Lets limits be changed while the app runs, by `limiter.configure`: those that it lists, and no
 * others. What is set is kept in the store, in the hash `config:<name>`; isolates look there every 5
 * seconds, along with a decision.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
 *   configuration: runtimeConfiguration({ allow: { rpm: ['limit', 'mode'] } }),
 * })
 * await limiter.configure({ rpm: { limit: 30 } })
 */
export function runtimeConfiguration(options: RuntimeConfigurationOptions): RuntimeConfiguration {
  const where = 'runtimeConfiguration'
  knownOptions(where, options, ['allow', 'name'])
  const name = plainName(`${where}.name`, options.name ?? 'default')
  const allowed = allowedIn(`${where}.allow`, options.allow)

  function connect(lent: Lent, policies: readonly Policy[]): LimiterConfiguration {
    const { clock } = lent
    const rules = rulesFor(allowed, policies)
    const record = new ConfigurationRecord(lent, name)
    let known: Known | undefined
    let isCurrent = false
    let reliableUntil = 0
    let changesMade = 0

    function complain(what: string): void {
      const message = `The configuration "${name}" in the store: ${what}; it is ignored`
      lent.problem({ code: 'invalid_configuration', message })
    }

    const read = (text: string | undefined): Promise<Reading> =>
      readEntries(entriesIn(text, complain), rules, complain)

    async function load(): Promise<Known> {
      const [since, before] = [clock(), changesMade]
      const { version, text } = await record.read()
      const loaded = { version, byPlace: (await read(text)).byPlace }
      // What this isolate has changed meanwhile may not be in it.
      if (changesMade === before) {
        known = loaded
        isCurrent = true
        reliableUntil = since + RELY_MS
      }
      return loaded
    }

    const loadOnce = oneForAll(load, () => (isCurrent ? known : undefined))

    function watchFor(used: Known): Watch {
      const since = clock()
      const seen = (version: string | undefined): boolean => {
        if (known === used) {
          isCurrent = version === used.version
          if (!isCurrent) return true
          const until = isSetBack(reliableUntil, clock()) ? 0 : reliableUntil
          reliableUntil = Math.max(until, since + RELY_MS)
        }
        return version !== used.version
      }
      return { read: record.version, seen }
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

    return {
      async current() {
        let used = known
        try {
          if (!isCurrent) used = await loadOnce()
        } catch (failed) {
          return { settings: settingsOf(used), failed }
        }
        const settings = settingsOf(used)
        const now = clock()
        return !used || (isCurrent && now < reliableUntil && !isSetBack(reliableUntil, now))
          ? { settings }
          : { settings, watch: watchFor(used) }
      },

      async configure(changes, subject) {
        const valid = await validChanges(changes, subject, rules)
        await change((text) => changedText(entriesIn(text, complain), valid))
      },

      configured: async () => (await read((await record.read()).text)).configured,

      async forget(own, subject) {
        const changes = own.flatMap(({ name: policy, per }) => {
          const rule = rules.get(policy)
          if (!rule || per === 'global' || lacksDimension(subject, per)) return []
          return [{ rule, subject: dimensionsOf(subject, per), changes: null }]
        })
        if (changes.length === 0) return
        await change((text) => changedText(entriesIn(text, complain), changes))
      },
    }
  }

  const allows = (policy: string, setting: Setting): boolean =>
    allowed.get(policy)?.includes(setting) === true
  return Object.freeze({ allows, connect })
}

type Allowed = ReadonlyMap<string, readonly Setting[]>

function allowedIn(option: string, allow: unknown): Allowed {
  optionsObject(option, allow)
  const allowed = new Map<string, readonly Setting[]>()
  for (const [policy, settings] of Object.entries(allow)) {
    const where = `${option}.${plainName(`${option}.${policy}`, policy)}`
    const list: unknown[] = Array.isArray(settings) ? settings : []
    if (list.length === 0) {
      const known = SETTINGS.map((setting) => `"${setting}"`).join(', ')
      throw new ConfigError('invalid_option', where, `must be a list of at least one of ${known}`)
    }
    allowed.set(
      policy,
      list.map((setting) => oneOf(where, setting, SETTINGS)),
    )
  }
  if (allowed.size > 0) return allowed
  throw new ConfigError('invalid_option', option, 'must name at least one policy')
}

function rulesFor(allowed: Allowed, policies: readonly Policy[]): Rules {
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
function settingsOf(known: Known | undefined): CurrentSettings['settings'] {
  return ({ name }, partition) => {
    const all = known?.byPlace.get(placeOf(name))
    const own = known?.byPlace.get(placeOf(name, partition))
    return all && own ? { ...all, ...own } : (own ?? all)
  }
}
