/*
 * A process and the lists of its stores: one with another list finds out before its first decision, instead of counting
 * a tenant anew.
 */
import type { Store } from '../stores/store.ts'
import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { runInBackground } from '../internal/background.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { withDeadline } from '../stores/deadline.ts'
import { errorAt } from './named-store.ts'
import { compareLists, ENDED, type Lists, type OtherStanding } from './shard-record.ts'

/** The pause after which stores that did not answer are asked again, in milliseconds. */
const ASK_AGAIN_MS = 1_000

/** A store, and whether it is known to have this process' list. */
export interface Member {
  readonly name: string
  readonly store: Store
  hasJoined?: boolean
  /** The question whether the store has the list, which several decisions may await. */
  asking?: Shared<boolean> | undefined
  /** The steps that join it, which several decisions may await. */
  joining?: Shared<void> | undefined
  /** The time at which other stores were last asked in vain (epoch ms). It counts without a record meanwhile. */
  unsureSince?: number | undefined
}

interface Shared<T> {
  readonly startedAt: number
  readonly answer: Promise<T>
}

/**
 * Makes sure that stores have this process' list. It asks each once; if one has none and no other is known to have it, the
 * others are asked, too.
 */
export class Joining {
  readonly #lists: Lists
  readonly #members: readonly Member[]
  readonly #isEnded: boolean

  constructor(lists: Lists, members: readonly Member[]) {
    this.#lists = lists
    this.#members = members
    this.#isEnded = lists.before === ENDED
  }

  /** @throws StoreError `store_moved` When the store has another list. */
  async join(member: Member, startedAt: number): Promise<void> {
    if (this.#isUnsure(member)) return undefined
    const { name, store } = member
    const { timeoutMs } = store
    if (timeoutMs === undefined) {
      return shareAnswer(member, 'joining', startedAt, () => this.#load(member, startedAt))
    }
    const join = (signal: AbortSignal): Promise<void> => this.#joinTogether(member, signal)
    return withDeadline(timeoutMs, startedAt, join).catch((error: unknown) => {
      throw error instanceof StoreError && error.place === undefined ? errorAt(name, error) : error
    })
  }

  /** Returns true if a store has this list, and false if it has none. */
  async #ask(member: Member, since: number, mayBegin: boolean): Promise<boolean> {
    const { name, store } = member
    const now = systemClock()
    // Where the limit is known, each decision that waits has its own deadline.
    const startedAt = store.timeoutMs === undefined ? since : now
    const standing = await store.run(compareLists(this.#lists, mayBegin, now, startedAt))
    if (standing.kind === 'none') return false
    if (standing.kind === 'same') {
      member.hasJoined = true
      return true
    }
    throw Object.assign(new StoreError('store_moved', this.#difference(standing)), { place: name })
  }

  #difference({ kind, list: theirs }: OtherStanding): string {
    const { list, before } = this.#lists
    const own = before === '' || this.#isEnded ? list : `${list}, from ${before}`
    return kind === 'other'
      ? `The databases in use are ${theirs}; this process has ${own}. Give it that list, or name it in from of sharded, to move tenants`
      : `Tenants move here from the databases ${theirs}; this process has ${own}. Name these in from of sharded; once all have moved, set from: 'ended'`
  }

  /** Asks a store without changing it, once for all that want to know at the same time. */
  #askOnce(member: Member, startedAt: number): Promise<boolean> {
    return shareAnswer(member, 'asking', startedAt, () => this.#ask(member, startedAt, false))
  }

  /**
   * Asks the other stores. The first that has this list is enough: another may hang. Returns false if nobody has it, and
   * one that did not answer may have another.
   */
  #askOthers(others: readonly Member[], startedAt: number): Promise<boolean> {
    let hasFailed = false
    let left = others.length
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        // If this list names the one before, tenants come from there, and each is asked then.
        if (left === 0) resolve(!hasFailed || this.#lists.before !== '')
      }
      for (const other of others) {
        this.#askOnce(other, startedAt).then(
          (hasList) => {
            left -= 1
            if (hasList) resolve(true)
            else settle()
          },
          (error: StoreError) => {
            left -= 1
            hasFailed = true
            if (error.code === 'store_moved') reject(error)
            else settle()
          },
        )
      }
    })
  }

  async #load(member: Member, startedAt: number): Promise<void> {
    const others = this.#members.filter((other) => other !== member)
    const isKnown = others.length === 0 || others.some(({ hasJoined }) => hasJoined)
    if (isKnown) {
      await this.#ask(member, startedAt, true)
      return
    }
    // A server meets all of them, so it may ask at once. All are to know of the end, even if they count no longer.
    const atOnce =
      sharesPromises() || this.#isEnded ? this.#askOthers(others, startedAt) : undefined
    if (atOnce) runInBackground(atOnce)
    if (await this.#askOnce(member, startedAt)) return
    const answer = atOnce ?? this.#askOthers(others, startedAt)
    if (await isSoonTrue(answer, member.store.timeoutMs)) await this.#ask(member, startedAt, true)
    else member.unsureSince = systemClock()
  }

  /** Returns true if a store counts without a record. After a pause the others are asked again, beside the decisions. */
  #isUnsure(member: Member): boolean {
    const { unsureSince } = member
    if (unsureSince === undefined) return false
    const now = systemClock()
    if (Math.abs(now - unsureSince) >= ASK_AGAIN_MS) {
      member.unsureSince = now
      const again = this.#load(member, now).catch((error: StoreError) => {
        // The next decision asks, and is refused.
        if (error.code === 'store_moved') member.unsureSince = undefined
      })
      runInBackground(again)
    }
    return true
  }

  /** Joins together with others. Asks again if a deadline has passed that is not its own. */
  async #joinTogether(member: Member, signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = systemClock()
      try {
        return await shareAnswer(member, 'joining', now, () => this.#load(member, now))
      } catch (error) {
        const isLate = error instanceof StoreError && error.code === 'store_timeout'
        if (!isLate || signal.aborted) throw error
      }
    }
  }
}

/** Returns the answer that is on its way for an older decision, or asks: a younger one may end after this decision's deadline. */
function shareAnswer<Name extends 'asking' | 'joining'>(
  member: Member,
  name: Name,
  startedAt: number,
  start: () => NonNullable<Member[Name]>['answer'],
): NonNullable<Member[Name]>['answer'] {
  const known = member[name]
  if (known && known.startedAt <= startedAt && sharesPromises()) return known.answer
  const answer = start().finally(() => {
    if (member[name]?.answer === answer) member[name] = undefined
  }) as NonNullable<Member[Name]>['answer']
  member[name] = { startedAt, answer } as Member[Name]
  return answer
}

/** Returns false, too, if the answer takes more than a quarter of the time of a decision, which is still to be made. */
async function isSoonTrue(answer: Promise<boolean>, timeoutMs?: number): Promise<boolean> {
  if (timeoutMs === undefined) return answer
  try {
    return await withDeadline(timeoutMs / 4, systemClock(), () => answer)
  } catch (error) {
    if (error instanceof StoreError && error.code === 'store_timeout') return false
    throw error
  }
}
