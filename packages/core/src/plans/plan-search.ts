import type { Clock } from '../clock.ts'
import type { PlanSource } from '../decision.ts'
import type { PlanRecords } from './plan-records.ts'
import { systemClock } from '../clock.ts'
import { FAILED, planIn } from './plan-records.ts'
import { randomId } from '../random-id.ts'
import { lacksDimension, partOf, type Subject } from '../subject.ts'
import {
  background,
  isSetBack,
  LOOKS_MS,
  pause,
  pauses,
  RELY_MS,
  type WaitUntil,
  type Watch,
} from '../watch.ts'

/** Finds the plans of subjects that name none. */
export interface PlanSearch {
  find(subject: Subject, waitUntil?: WaitUntil): Promise<FoundPlan>
  invalidate(id: string): Promise<void>
}

/** The plan of a subject that names none. */
export interface FoundPlan {
  /** `undefined` for the default plan. */
  readonly name: string | undefined
  readonly source: PlanSource
  /** What to read along with the decision. */
  readonly watch?: Watch | undefined
  /** How the store has just failed, so that there is no use in asking it again. */
  readonly failed?: unknown
}

/** What finds plans. */
export interface PlanSearchParts {
  readonly records: PlanRecords
  /** The dimension whose values have plans. */
  readonly by: string
  readonly clock: Clock
  /** How long one look-up may take, in milliseconds. */
  readonly timeoutMs: number
  /** How long nobody else looks meanwhile, and after one that failed, in milliseconds. */
  readonly claimMs: number
  /** How long a plan lasts that the store could not be told of, in milliseconds. */
  readonly cacheMs: number
  /** Looks a plan up; `undefined` if nothing comes of it. Does not throw. */
  readonly ask: (id: string) => Promise<string | undefined>
  /** `name`, if it names a plan. */
  readonly known: (name: string | undefined) => string | undefined
}

/** Whose plan it is. */
interface Owner {
  readonly id: string
  readonly key: string
}

/** What an isolate knows of one plan. Plain data: no request can wait for another's promise. */
interface Copy {
  name: string | undefined
  /** Whether the store had it when it was last looked at. */
  isFresh: boolean
  reliableUntil: number
  /** Whether the first search for it has ended, or another one has found it. */
  isReady: boolean
  /** When that search began, by the machine's clock. */
  searchedAt: number
  /** When to have it looked up again, if the store has not got it. */
  askAgainAt: number
  /** When to have it looked up again, if the store has one that is none here. */
  replaceAgainAt: number
  /** When to search for it anew. */
  endsAt: number
  /** How the store failed. */
  failed?: unknown
  /** Whether the last known plan is no answer, if the resolver has one. */
  readonly isInvalidated: boolean
}

/** Isolates forget plans past that number. */
const MAX_COPIES = 10_000

/** The part of a plan resolver that belongs to one limiter. */
export function planSearch(parts: PlanSearchParts): PlanSearch {
  const { records, by, clock, timeoutMs, claimMs, cacheMs, ask, known } = parts
  // In order of use, so that the first is the one to forget.
  const copies = new Map<string, Copy>()

  const keyOf = async (subject: Subject): Promise<string> =>
    `${by}:${await partOf(by, subject)}:plan`

  function put(key: string, copy: Copy): Copy {
    copies.delete(key)
    copies.set(key, copy)
    for (const oldest of copies.keys()) {
      if (copies.size <= MAX_COPIES) break
      copies.delete(oldest)
    }
    return copy
  }

  function copyOf(key: string): Copy {
    const copy = copies.get(key)
    return put(key, copy && clock() < copy.endsAt ? copy : newCopy(copy?.name))
  }

  /** Takes note of the plan that the store had at `since`. */
  function note(copy: Copy, name: string, since: number): void {
    const reliableUntil = since + RELY_MS
    // What was read earlier may arrive later.
    const isOutdated = !isSetBack(copy.reliableUntil, clock()) && reliableUntil < copy.reliableUntil
    if (copy.isFresh && isOutdated) return
    const isKnown = { isFresh: true, isReady: true, askAgainAt: 0, endsAt: Infinity }
    Object.assign(copy, { name, reliableUntil, ...isKnown })
  }

  /** Takes note of what the resolver says when the store cannot be told. */
  function noteAlone(copy: Copy, name: string | undefined, failed: unknown): void {
    const isFresh = name !== undefined
    const endsAt = clock() + (isFresh ? cacheMs : claimMs)
    const reliableUntil = clock() + RELY_MS
    Object.assign(copy, { name: name ?? copy.name, isFresh, reliableUntil, endsAt, failed })
  }

  /**
   * Has the plan looked up if nobody else does, and tells whether nobody did; in place of a plan that
   * the store has and that is none here, such as one that a deployment has renamed.
   */
  async function lookUp(copy: Copy, { id, key }: Owner, replaced?: string): Promise<boolean> {
    copy.askAgainAt = clock() + claimMs
    // Longer than the answer holds here: limiters with other plans may replace it in turn.
    if (replaced !== undefined) copy.replaceAgainAt = copy.askAgainAt
    const claim = randomId()
    if (!(await records.claim(key, claim, replaced))) return false
    const name = await ask(id)
    try {
      if (name === undefined) return await records.giveUp(key, claim)
      const since = clock()
      // A claim that is lost makes the answer void: the plan may have changed since it was asked for.
      const isKept = await records.keep(key, claim, name)
      if (isKept) note(copy, name, since)
      return isKept
    } catch (error) {
      noteAlone(copy, name, error)
      return true
    }
  }

  function mayLookUp(copy: Copy, replaced: string | undefined): boolean {
    const at = replaced === undefined ? copy.askAgainAt : copy.replaceAgainAt
    return clock() >= at || isSetBack(at, clock(), claimMs)
  }

  function lookUpMeanwhile(
    copy: Copy,
    owner: Owner,
    replaced: string | undefined,
    waitUntil?: WaitUntil,
  ): void {
    if (mayLookUp(copy, replaced)) background(lookUp(copy, owner, replaced), waitUntil)
  }

  async function search(copy: Copy, owner: Owner, waitUntil?: WaitUntil): Promise<void> {
    const deadline = systemClock() + timeoutMs
    for (const waitMs of pauses(LOOKS_MS.store)) {
      const since = clock()
      const record = await records.read(owner.key)
      const plan = known(record.plan)
      if (plan !== undefined) return note(copy, plan, since)
      copy.name = known(record.last) ?? copy.name
      const replaced = record.plan
      const isTaken = replaced === undefined && record.claim !== undefined
      if (isTaken) copy.askAgainAt = since + claimMs
      if (record.claim === FAILED) return
      if (copy.name !== undefined && !copy.isInvalidated) {
        return lookUpMeanwhile(copy, owner, replaced, waitUntil)
      }
      if (replaced !== undefined && !mayLookUp(copy, replaced)) return
      if (!isTaken && (await lookUp(copy, owner, replaced))) return
      if (systemClock() >= deadline) return
      await pause(waitMs)
    }
  }

  async function searchFirst(copy: Copy, owner: Owner, waitUntil?: WaitUntil): Promise<void> {
    copy.searchedAt = systemClock()
    try {
      await search(copy, owner, waitUntil)
    } catch (error) {
      noteAlone(copy, await ask(owner.id), error)
    }
    copy.isReady = true
  }

  function found(copy: Copy, owner: Owner, waitUntil?: WaitUntil): FoundPlan {
    const { name, isFresh } = copy
    const source = name === undefined ? 'default' : isFresh ? 'resolver' : 'stale'
    const since = clock()
    const isReliable = since < copy.reliableUntil && !isSetBack(copy.reliableUntil, since)
    if (isFresh && isReliable) return { name, source }
    const seen = (value: string | undefined): boolean => {
      const stored = planIn(value)
      const plan = known(stored)
      if (plan !== undefined) {
        note(copy, plan, since)
      } else if (copy.reliableUntil <= since || isSetBack(copy.reliableUntil, clock())) {
        copy.isFresh = false
        lookUpMeanwhile(copy, owner, stored, waitUntil)
      }
      return copy.name !== name
    }
    return { name, source, watch: { read: records.plan(owner.key), seen } }
  }

  return {
    async find(subject, waitUntil) {
      if (lacksDimension(subject, [by])) return { name: undefined, source: 'default' }
      const owner = { key: await keyOf(subject), id: (subject as Record<string, string>)[by] ?? '' }
      let copy = copyOf(owner.key)
      for (const waitMs of pauses(LOOKS_MS.isolate)) {
        if (copy.isReady) break
        const searchedMs = systemClock() - copy.searchedAt
        // Whoever comes first searches for all; but it may have been cut off, or the clock set back.
        if (searchedMs >= 2 * claimMs || searchedMs < 0) await searchFirst(copy, owner, waitUntil)
        else if (searchedMs >= timeoutMs) break
        else await pause(waitMs)
        if (copy.isReady) return { ...found(copy, owner, waitUntil), failed: copy.failed }
        copy = copyOf(owner.key)
      }
      return found(copy, owner, waitUntil)
    },

    async invalidate(id) {
      const key = await keyOf({ [by]: id })
      try {
        await records.forget(key)
      } finally {
        put(key, newCopy(copies.get(key)?.name, true))
      }
    },
  }
}

function newCopy(name: string | undefined, isInvalidated = false): Copy {
  return {
    name,
    isFresh: false,
    reliableUntil: 0,
    isReady: false,
    searchedAt: -Infinity,
    askAgainAt: 0,
    replaceAgainAt: 0,
    endsAt: Infinity,
    isInvalidated,
  }
}
