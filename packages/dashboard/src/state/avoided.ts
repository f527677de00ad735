import { setBounded } from './bounded.ts'

/** The most calls that are remembered as denied. */
const MAX_CALLS = 20_000

/** The denied calls that were not allowed later, each once, however often it is retried. */
export class AvoidedCalls {
  readonly #usdByCall = new Map<string, number>()

  /** Returns true if the call was not denied before. */
  deny(tenant: string, call: string, usd: number): boolean {
    const key = keyOf(tenant, call)
    if (this.#usdByCall.has(key)) return false
    setBounded(this.#usdByCall, key, usd, MAX_CALLS)
    return true
  }

  /** Returns the estimate of a call that was denied before; `undefined` if it was not. */
  allow(tenant: string, call: string): number | undefined {
    const key = keyOf(tenant, call)
    const usd = this.#usdByCall.get(key)
    this.#usdByCall.delete(key)
    return usd
  }

  forget(tenant: string): void {
    for (const key of this.#usdByCall.keys()) {
      if (key.startsWith(keyOf(tenant, ''))) this.#usdByCall.delete(key)
    }
  }
}

const keyOf = (tenant: string, call: string): string => `${JSON.stringify(tenant)} ${call}`
