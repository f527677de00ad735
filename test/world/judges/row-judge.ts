/* Holds a row of a decision, the answer about one policy, to the policy's definition. */
import { Balance, judgeBalance, type BalanceTally } from './balances.ts'
import { fits, type Count } from './definitions.ts'
import { lacksEnd } from './periods.ts'
import { isBucket, type Rule } from './rules.ts'
import type { Row } from './script-calls.ts'

/** How often rows were looked at. */
export interface RowTally extends BalanceTally {
  retries: number
  /** Decisions by callers that did not know when a period would end. */
  endless: number
}

export class RowJudge {
  readonly #tally: RowTally
  readonly #accuse: (what: string) => void
  /** Limits that were set while it ran, by policy. */
  readonly #allowed = new Map<string, Set<number>>()

  constructor(tally: RowTally, accuse: (what: string) => void) {
    this.#tally = tally
    this.#accuse = accuse
  }

  /** Notes a limit that the app may set. */
  allowLimit(policy: string, limit: number): void {
    const limits = this.#allowed.get(policy) ?? new Set()
    this.#allowed.set(policy, limits.add(limit))
  }

  /** Judges the limit of a row: it must be one that was set. */
  judgeLimit({ rule, key, limit }: Row): void {
    const whole = typeof rule.limit === 'number' ? [rule.limit] : Object.values(rule.limit)
    // Shares have the limit of the policy that they stand beside.
    const known = [...whole, ...(this.#allowed.get(rule.name.replace(/\.share$/, '')) ?? [])]
    if (!known.some((one) => limitOfKey(rule, key, one) === limit)) {
      this.#accuse(`${rule.name} was decided by a limit of ${limit}, which nobody has set`)
    }
  }

  /** Judges what a row says of the count of its key. */
  judge(row: Row, count: Count, now: number): void {
    const { rule, key, cost, limit, burst, ...replied } = row
    if (count instanceof Balance) {
      return judgeBalance(count, row, now, this.#tally, this.#accuse)
    }
    const asked = { cost, limit, burst }
    const ends = row.ends ?? []
    if (lacksEnd(count, { rule, key, ends }, now, this.#accuse)) {
      this.#tally.endless += 1
      const { available, retryMs } = replied
      if (replied.fits !== (cost === 0) || available !== 0 || retryMs !== 0) {
        this.#accuse(`${rule.name} was decided without an end`)
      }
      return
    }
    const used = count.used(rule, now)
    const most = isBucket(rule) ? burst : limit
    const where = `${rule.name} (${rule.kind}, ${used} of ${most} used, cost ${cost})`
    if (fits(rule, count, asked, now) !== replied.fits) {
      this.#accuse(`${where} ${replied.fits ? 'was let in' : 'was denied'} against its definition`)
    }
    const available = Math.max(0, most - used)
    if (replied.available !== available) {
      this.#accuse(`${where} has ${available} left, not ${replied.available}`)
    }
    if (replied.fits || rule.kind === 'slots') return
    this.#tally.retries += 1
    if (cost > most) {
      if (replied.retryMs !== -1) this.#accuse(`${where} never fits, but is to be retried`)
      return
    }
    if (limit === 0) return
    const { retryMs } = replied
    if (!fits(rule, count, asked, now + retryMs)) {
      this.#accuse(`${where} does not fit after the ${retryMs} ms that were promised`)
    } else if (fits(rule, count, asked, now + retryMs - 1)) {
      this.#accuse(`${where} fits sooner than after ${retryMs} ms`)
    }
  }
}

/** Returns the limit of a key, which is a part of the policy's if the key is a stripe. */
function limitOfKey({ stripes }: Rule, key: string, limit: number): number {
  if (stripes === 1) return limit
  const stripe = Number(/:(\d+)\/\d+$/.exec(key)?.[1])
  const count = Math.max(1, Math.min(stripes, limit))
  return Math.floor(limit / count) + (stripe < limit % count ? 1 : 0)
}
