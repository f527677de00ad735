import {
  concurrency,
  dailyCap,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Limit,
  type Policy,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits } from '@sluice/core/credits'
import { fairShare } from '@sluice/core/fair-share'
import { waitingLine } from '@sluice/core/waiting'

const per = ['tenant'] as const

/** The same balance for limiters of any `onStoreError`: the tables of kinds have no store that fails. */
const whateverFails =
  (policy: Policy<'tenant', 'request'>): Policy<'tenant', 'request'> =>
  () =>
    policy().map((rule) =>
      Object.assign({}, rule, { balance: Object.assign({}, rule.balance, { accept() {} }) }),
    )

/** Makes a policy of each way to count, of this name and limit. */
export const KINDS = {
  'sliding window': (name: string, limit: Limit) =>
    slidingWindow({ name, limit, window: '1m', per }),
  counter: (name: string, limit: Limit) =>
    slidingWindowCounter({ name, limit, window: '1m', segments: 6, per }),
  'token bucket': (name: string, limit: Limit) => tokenBucket({ name, limit, window: '1m', per }),
  'token bucket of intervals': (name: string, limit: Limit) =>
    tokenBucket({ name, limit, window: '1m', refill: 'interval', per }),
  'leaky bucket': (name: string, limit: Limit) =>
    leakyBucket({ name, limit, window: '1m', burst: 'limit', per }),
  'leaky bucket that waits': (name: string, limit: Limit) =>
    leakyBucket({ name, limit, window: '1m', burst: 'limit', wait: '40s', per }),
  'fixed window': (name: string, limit: Limit) => fixedWindow({ name, limit, window: '1m', per }),
  'daily cap': (name: string, limit: Limit) => dailyCap({ name, limit, per }),
  'monthly cap': (name: string, limit: Limit) => monthlyCap({ name, limit, per }),
  'calendar day': (name: string, limit: Limit) =>
    dailyCap({ name, limit, per, resets: calendar({ zone: 'Asia/Kathmandu', on: { hour: 6 } }) }),
  'billing month': (name: string, limit: Limit) =>
    monthlyCap({
      name,
      limit,
      per,
      resets: calendar({ zone: 'America/New_York', anchor: '2026-01-31T06' }),
    }),
  'calendar week of a zone by tenant': (name: string, limit: Limit) =>
    fixedWindow({
      name,
      limit,
      per,
      resets: calendar({
        every: 'week',
        zone: ({ tenant }) => (tenant === 'acme' ? 'Europe/Berlin' : 'Pacific/Auckland'),
      }),
    }),
  'session window': (name: string, limit: Limit) =>
    sessionWindow({ name, limit, idle: '20s', per }),
  'session of a length': (name: string, limit: Limit) =>
    sessionWindow({ name, limit, length: '1m', per }),
  'session of a length with pauses': (name: string, limit: Limit) =>
    sessionWindow({ name, limit, length: '1m', idle: '20s', per }),
  'fair shares': (name: string, limit: Limit) =>
    fairShare(slidingWindow({ name, limit, window: '1m', per }), { between: per }),
  'waiting line': (name: string, limit: Limit) =>
    waitingLine(slidingWindow({ name, limit, window: '1m', per })),
  'calls in flight': (name: string, limit: Limit) => concurrency({ name, limit, per }),
  'allowance of credits': (name: string, limit: Limit) =>
    whateverFails(
      credits({
        name,
        ledger: name,
        per,
        unit: 'request',
        unsettled: 'keep',
        included: { amount: limit, resets: calendar({ every: 'day' }) },
      }),
    ),
  'sliding windows': (name: string, limit: Limit) =>
    slidingWindows({
      name,
      windows: { short: { limit, window: '10s' }, long: { limit, window: '1m' } },
      per,
    }),
} satisfies Record<string, (name: string, limit: Limit) => Policy>

export type Kind = keyof typeof KINDS

export const KIND_NAMES = Object.keys(KINDS) as Kind[]

/** The kinds that count a balance: no reset takes it, it has no line, and a log tells no grants. */
export const BALANCES: readonly Kind[] = KIND_NAMES.filter((kind) =>
  KINDS[kind]('p', 1)().some(({ balance }) => balance),
)
