/** The end of a call, as far as it says something about its provider. */
export type ProviderOutcome =
  'answered' | 'rate_limited' | 'refused_key' | 'failed' | 'unreachable' | 'timed_out'

/** The last outcome of each provider that this isolate has called. */
export interface ProviderStates {
  note(provider: string, outcome: ProviderOutcome): void
  /** Returns the last outcome and its age, or `null`. */
  last(provider: string): { readonly outcome: ProviderOutcome; readonly secondsAgo: number } | null
}

export function createProviderStates(now: () => number = Date.now): ProviderStates {
  const states = new Map<string, { outcome: ProviderOutcome; at: number }>()
  return {
    note: (provider, outcome) => void states.set(provider, { outcome, at: now() }),
    last(provider) {
      const state = states.get(provider)
      if (state === undefined) return null
      return {
        outcome: state.outcome,
        secondsAgo: Math.max(0, Math.round((now() - state.at) / 1_000)),
      }
    },
  }
}

/** Returns the outcome that a status stands for. */
export function outcomeOf(status: number): ProviderOutcome {
  if (status === 401) return 'refused_key'
  if (status === 429) return 'rate_limited'
  return status >= 500 ? 'failed' : 'answered'
}
