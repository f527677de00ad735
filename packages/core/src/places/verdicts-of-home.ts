import type { Store, StoreReply, StoreRequest, Verdict } from '../stores/store.ts'
import { isFresh } from '../internal/freshness.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { momentOf } from '../leases/serving.ts'

/** The most keys of which the latest verdict is remembered. */
const MAX_KEYS = 1_000

/** The latest verdict of home on a key. */
interface HomeVerdict {
  readonly verdict: Verdict
  readonly limit: number
  /** By the steady clock. */
  readonly at: number
}

/** Asks home for verdicts, and remembers them for a while. */
export class VerdictsOfHome {
  readonly #home: Store
  readonly #known = new RecentItems<HomeVerdict>(MAX_KEYS)

  constructor(home: Store) {
    this.#home = home
  }

  /**
   * Asks home, unless the place denies the request by itself and recent verdicts on all entries are known: a flood of
   * such requests makes no calls.
   */
  async ask(
    request: StoreRequest,
    isDeniedAnyway: boolean,
  ): Promise<Pick<StoreReply, 'verdicts' | 'granted'> & { readonly now?: number }> {
    const { entries } = request
    const { steady } = momentOf(request)
    const recent = entries.map(({ key, limit }) => {
      const known = isDeniedAnyway ? this.#known.get(key) : undefined
      return known?.limit === limit && isFresh(known.at, steady) ? known.verdict : undefined
    })
    if (recent.every((verdict) => verdict !== undefined)) return { verdicts: recent }
    const reply = await this.#home.check(request)
    for (const [at, { key, limit }] of entries.entries()) {
      const verdict = reply.verdicts[at]
      if (verdict) this.#known.set(key, { verdict, limit, at: steady })
    }
    return reply
  }
}
