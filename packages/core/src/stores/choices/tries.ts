/* The order in which alternatives are tried, whoever tries them: a script, a memory, or one call after the other. */
import {
  isOutdated,
  type Alternatives,
  type Entry,
  type StoreReply,
  type StoreRequest,
  type Verdict,
} from '../store.ts'

/** A request with alternatives. */
export type ChoiceRequest = StoreRequest & { readonly alternatives: Alternatives }

/** The time to wait for what the store did not answer, as long as a denial without the store says. In milliseconds. */
const BLIND_WAIT_MS = 1_000

/** The replies to alternatives, in their order. */
export class Tries {
  readonly #request: ChoiceRequest
  readonly #replies: StoreReply[] = []
  #last: StoreReply | undefined
  #isOver = false

  constructor(request: ChoiceRequest) {
    this.#request = request
  }

  /** Returns the request for the next to try, or `undefined` at the end. Those known to be denied are not tried. */
  next(): StoreRequest | undefined {
    const { all, denied } = this.#request.alternatives
    const { now } = this.#request
    for (;;) {
      const one = all[this.#replies.length]
      if (this.#isOver || one === undefined) return undefined
      const verdicts = denied.get(this.#replies.length)
      if (verdicts === undefined) return { ...this.#request, ...one, alternatives: undefined }
      this.#replies.push({ source: 'cache', now, verdicts, values: [] })
    }
  }

  /** Adds the reply to the request that `next` has returned. The first that fits ends a charge; a look tries all. */
  add(reply: StoreReply): void {
    const { apply, reads } = this.#request
    const isStopped = !reply.degraded && isOutdated(reads, reply.values)
    this.#isOver = apply && !isStopped && this.#waitMs(this.#replies.length, reply) === 0
    this.#last = reply
    this.#replies.push(reply)
  }

  /** Returns the reply to the whole: of the first that fits, else of the one that fits soonest. */
  reply(): StoreReply {
    let choice = 0
    let soonest = Infinity
    for (const [at, reply] of this.#replies.entries()) {
      const waitMs = this.#waitMs(at, reply)
      // Those that were asked one after the other have waits from different times.
      const fitsAt = waitMs === 0 ? 0 : reply.now + waitMs
      if (fitsAt < soonest) [choice, soonest] = [at, fitsAt]
    }
    const chosen = this.#replies[choice] as StoreReply
    const { values, degraded } = this.#last ?? chosen
    const tried = this.#replies.map(({ verdicts }) => verdicts)
    // One without an answer may have been charged, unless a look has found one that fits.
    const fault = chosen.degraded ?? (soonest === 0 ? undefined : degraded)
    return { ...chosen, degraded: fault, values, choice, tried }
  }

  #waitMs(at: number, { verdicts, degraded }: StoreReply): number {
    if (degraded && degraded.mode !== 'local') return degraded.mode === 'allow' ? 0 : BLIND_WAIT_MS
    return waitMsOf(this.#request.alternatives.all[at]?.entries ?? [], verdicts)
  }
}

/** Returns the time until all enforced entries fit: 0 if they do, Infinity if one never can. */
function waitMsOf(entries: readonly Entry[], verdicts: readonly Verdict[]): number {
  let waitMs = 0
  for (const [index, { fits, retryMs }] of verdicts.entries()) {
    if (fits || !entries[index]?.enforced) continue
    waitMs = Math.max(waitMs, retryMs < 0 ? Infinity : Math.max(1, retryMs))
  }
  return waitMs
}
