import type { Answer } from './api'

/** An answer in words, and the name of its color. */
export interface OutcomeWords {
  readonly text: string
  readonly tone: 'good' | 'bad' | 'none'
}

const REFUSALS: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'too many this minute',
  daily_quota_exceeded: 'used up for today',
  insufficient_quota: 'budget is spent',
  concurrency_exceeded: 'too many at once',
  store_unavailable: 'store is down',
  unauthenticated: 'not signed in',
  invalid_api_key: 'not signed in',
  unreachable: 'no answer',
}

/** Says how a request ended. */
export function outcomeOf({ status, error }: Answer): OutcomeWords {
  if (status > 0 && status < 400) return { text: 'allowed', tone: 'good' }
  const text = REFUSALS[error ?? ''] ?? `status ${status}`
  return { text, tone: status === 401 ? 'none' : 'bad' }
}
