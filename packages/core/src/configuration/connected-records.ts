import type { ExtensionCall } from '../limiter/call.ts'
import type { Contribution, ExtensionContext } from '../limiter/extensions.ts'
import type { PolicySettings } from '../limiter/resolve.ts'
import type { RecordField } from '../stores/store.ts'
import type { ConfigurationCopy } from './configuration-copy.ts'
import type { ConfigurationEntry, Report } from './document.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { encodePartition, encodePartitionAsync, hasLongValue, type Subject } from '../subject.ts'
import { lacksDimension } from '../subject.ts'
import { PartitionCopy, type RecordSource } from './partition-copy.ts'
import { editRecord, EMPTY_RECORD, parseRecord } from './partition-record.ts'
import { retryWrite } from '../limiter/retry-write.ts'
import { dimensionsOf, mergeSettings, type Change, type ConfigurablePolicy } from './settings.ts'

/** The parts of a configuration that the records of its partitions join. */
export interface RecordsContext extends Pick<ExtensionContext, 'records' | 'clock'> {
  /** The key of the configuration, with which the keys of records begin. */
  readonly key: string
  /** The settings of whole policies. */
  readonly shared: ConfigurationCopy
  readonly report: Report
}

/** The policies that count by the same dimensions. Their settings for a partition share a record. */
interface PolicyGroup {
  readonly per: readonly string[]
  readonly policies: Map<string, ConfigurablePolicy>
  readonly source: RecordSource
}

/** The time after which a record without settings expires. A deletion could hit a change just made by others. */
const EMPTY_MS = 60_000

/** The most partitions that an isolate remembers. It forgets those not used lately. */
const MAX_PARTITIONS = 10_000

/** The records of partitions in one limiter. */
export class ConnectedRecords {
  readonly #context: RecordsContext
  readonly #groups: readonly PolicyGroup[]
  readonly #partitions = new RecentItems<PartitionCopy>(MAX_PARTITIONS)

  constructor(context: RecordsContext) {
    this.#context = context
    this.#groups = groupPolicies(context)
  }

  /**
   * Contributes the settings of the subject's partitions, and below them those of whole policies.
   *
   * @param isRepeated True if the decision must not be stopped by a change.
   */
  contribute(call: ExtensionCall, isRepeated: boolean): Contribution | Promise<Contribution> {
    const { subject, startedAt } = call
    const groups = this.#groups.filter((group) => takesPart(group, subject))
    const shared = this.#context.shared.contribute(startedAt, isRepeated)
    const isLong = groups.some(({ per }) => hasLongValue(subject, per))
    const find = (group: PolicyGroup, id: string): ReturnType<typeof this.contribute> =>
      this.#partitionOf(group, id).contribute(startedAt, isRepeated)
    const own = groups.map((group) =>
      isLong
        ? encodePartitionAsync(subject, group.per).then((id) => find(group, id))
        : find(group, encodePartition(subject, group.per)),
    )
    const all = [...own, shared]
    return all.every(isReady)
      ? combine(all)
      : Promise.all(all.map(async (contribution) => contribution)).then(combine)
  }

  /**
   * Makes changes to the settings of partitions. A change that others make at the same time is not lost.
   *
   * @throws StoreError `store_conflict` When others are faster each time.
   */
  async change(changes: readonly Change[]): Promise<void> {
    for (const { per, policies } of this.#groups) {
      const ofPartitions = new Map<string, Change[]>()
      for (const change of changes) {
        if (!change.subject || !policies.has(change.configurable.policy.name)) continue
        const partition = await encodePartitionAsync(change.subject, per)
        ofPartitions.set(partition, [...(ofPartitions.get(partition) ?? []), change])
      }
      for (const [partition, ofPartition] of ofPartitions) {
        const field = this.#fieldOf(partition)
        try {
          await retryWrite(() => this.#write(field, ofPartition))
        } finally {
          // Even after a failure: the change may have been made.
          this.#partitions.get(field.key)?.markOutdated()
        }
      }
    }
  }

  /** Reads the settings of the subject's partitions from the store. @throws StoreError */
  async read(subject: Subject): Promise<ConfigurationEntry[]> {
    const groups = this.#groups.filter(({ per }) => !lacksDimension(subject, per))
    const partitions = groups.map(({ per }) => encodePartitionAsync(subject, per))
    const fields = (await Promise.all(partitions)).map((partition) => this.#fieldOf(partition))
    const texts = await this.#context.records.read(fields)
    return groups.flatMap(({ per, source }, index) =>
      Array.from(source.parse(texts[index]), ([policy, settings]) => {
        return { policy, subject: dimensionsOf(subject, per), ...settings }
      }),
    )
  }

  #partitionOf({ source }: PolicyGroup, encoded: string): PartitionCopy {
    const field = this.#fieldOf(encoded)
    const known = this.#partitions.get(field.key)
    if (known) return known
    const partition = new PartitionCopy(field, source)
    this.#partitions.set(field.key, partition)
    return partition
  }

  /** Edits a record. Returns false if others have changed it meanwhile. */
  async #write(field: RecordField, changes: readonly Change[]): Promise<boolean> {
    const { records, report, clock } = this.#context
    const [stored] = await records.read([field])
    const text = editRecord(stored, changes, clock(), report)
    if (text === (stored ?? EMPTY_RECORD)) return true
    const write = { key: field.key, set: { [field.field]: text } }
    return records.write([text === EMPTY_RECORD ? { ...write, ttlMs: EMPTY_MS } : write], {
      ...field,
      is: stored,
    })
  }

  #fieldOf(partition: string): RecordField {
    return { key: `${this.#context.key}:${partition}`, field: 'settings' }
  }
}

function groupPolicies({ shared, report, records, clock }: RecordsContext): PolicyGroup[] {
  const groups = new Map<string, PolicyGroup>()
  for (const [name, configurable] of shared.policies) {
    const { per } = configurable.policy
    if (per === 'global') continue
    let group = groups.get(String(per))
    if (!group) {
      const policies = new Map<string, ConfigurablePolicy>()
      const parse: RecordSource['parse'] = (text) => parseRecord(text, policies, report)
      group = { per, policies, source: { records, clock, parse } }
      groups.set(String(per), group)
    }
    group.policies.set(name, configurable)
  }
  return [...groups.values()]
}

/** Returns true if a request of `subject` may count in one of the policies. */
function takesPart({ per, policies }: PolicyGroup, subject: Subject): boolean {
  if (lacksDimension(subject, per)) return false
  for (const { policy } of policies.values()) {
    if (policy.routes?.includes(subject.route ?? '') ?? true) return true
  }
  return false
}

/** Returns true for a contribution that needs no wait, which would cost a timer. */
function isReady(contribution: Contribution | Promise<Contribution>): contribution is Contribution {
  return !(contribution instanceof Promise)
}

/** Combines contributions. For each setting, the first that has it wins. */
function combine(all: readonly Contribution[]): Contribution {
  return {
    settings: (policy, partition) =>
      all.reduce<PolicySettings | undefined>(
        (found, { settings }) => mergeSettings(found, settings?.(policy, partition)),
        undefined,
      ),
    reads: all.flatMap(({ reads = [] }) => reads),
    failure: all.find(({ failure }) => failure !== undefined)?.failure,
  }
}
