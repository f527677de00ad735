import type { Records } from '../limiter/records.ts'
import type { RecordCondition } from '../limiter/records.ts'
import type { RecordField } from '../stores/store.ts'

/** What the store knows of one plan. */
export interface PlanRecord {
  /** The plan, less than its time to live ago. */
  readonly plan: string | undefined
  /** Who looks, or has looked, it up; `FAILED` when that has just come to nothing. */
  readonly claim: string | undefined
  /** The last plan that was found, up to a week ago. */
  readonly last: string | undefined
}

/** In place of a claim whose look-up has come to nothing. Nobody looks again until it expires. */
export const FAILED = 'failed'

/** In place of a plan that is being replaced. It reads as none, as if the plan had expired. */
const NONE = ''

const LAST_MS = 7 * 86_400_000

/**
 * The records of plans. The claim is a field beside the plan: who finds no plan and takes the claim is
 * the only one to look the plan up, and whatever removes the record ends the claim as well.
 */
export class PlanRecords {
  readonly #records: Records
  readonly #cacheMs: number
  readonly #claimMs: number

  constructor(records: Records, cacheMs: number, claimMs: number) {
    this.#records = records
    this.#cacheMs = cacheMs
    this.#claimMs = claimMs
  }

  /** Where a plan's name is. */
  plan(key: string): RecordField {
    return { key, field: 'plan' }
  }

  async read(key: string, startedAt: number | undefined): Promise<PlanRecord> {
    const fields = [this.plan(key), { key, field: 'claim' }, { key: lastKey(key), field: 'plan' }]
    const [plan, claim, last] = await this.#records.read(fields, startedAt)
    return { plan: planIn(plan), claim, last }
  }

  /** Takes the claim if nobody has it and there is no plan; or, from a plan to be replaced, if it is that. */
  claim(
    key: string,
    claim: string,
    replaced: string | undefined,
    startedAt: number | undefined,
  ): Promise<boolean> {
    const isFree = replaced === undefined
    const set = isFree ? { claim } : { claim, plan: NONE }
    const condition = isFree ? held(key) : { ...this.plan(key), is: replaced }
    return this.#records.write([{ key, set, ttlMs: this.#claimMs }], condition, startedAt)
  }

  /** Writes what was found, unless the claim has been lost. */
  keep(key: string, claim: string, plan: string, startedAt: number | undefined): Promise<boolean> {
    const writes = [
      { key, set: { plan }, ttlMs: this.#cacheMs },
      { key: lastKey(key), set: { plan }, ttlMs: LAST_MS },
    ]
    return this.#records.write(writes, held(key, claim), startedAt)
  }

  giveUp(key: string, claim: string, startedAt: number | undefined): Promise<boolean> {
    const failed = { key, set: { claim: FAILED }, ttlMs: this.#claimMs }
    return this.#records.write([failed], held(key, claim), startedAt)
  }

  forget(key: string): Promise<void> {
    return this.#records.remove([key])
  }
}

/** The plan that a field holds. */
export function planIn(field: string | undefined): string | undefined {
  return field === NONE ? undefined : field
}

function held(key: string, is?: string): RecordCondition {
  return { key, field: 'claim', is }
}

function lastKey(key: string): string {
  return `${key}:last`
}
