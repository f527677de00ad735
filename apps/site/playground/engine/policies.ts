import { call, type Expression } from './expression.ts'
import {
  choice,
  duration,
  number,
  optionalDollars,
  optionalDuration,
  optionalNumber,
  someDollars,
  type Fields,
  type Values,
} from './fields.ts'

/** A kind of policy: its form, and the call of the product's factory. */
export interface PolicyKind<Own extends Fields = Fields> {
  readonly title: string
  /** The sentence that says when to choose it. */
  readonly choose: string
  readonly fields: Own
  readonly policy: (name: string, values: Values<Own>) => Expression
  /** The units that each tenant is granted before its first request. */
  readonly grant?: (values: Values<Own>) => Expression
}

/** Infers the types of the values from the fields. */
const kind = <const Own extends Fields>(of: PolicyKind<Own>): PolicyKind =>
  of as unknown as PolicyKind

const limit = number('Limit', '60')
const window = duration('Window', '1m')
const unit = choice('Counts', { request: 'requests', token: 'tokens' })
const per = choice('For', { tenant: 'each tenant', global: 'everyone together' })

/** The default unit is left out. */
const unitOf = (value: string) => (value === 'request' ? undefined : value)
const perOf = (value: string) => (value === 'tenant' ? ['tenant'] : 'global')
const counted = { unit, per }
const countedBy = (v: Values<typeof counted>) => ({ unit: unitOf(v.unit), per: perOf(v.per) })

export const POLICY_KINDS = {
  window: kind({
    title: 'Sliding window',
    choose: 'A limit that must hold in any stretch of time, up to some thousands.',
    fields: { limit, window, ...counted },
    policy: (name, v) =>
      call('slidingWindow', {
        name,
        limit: v.limit,
        window: v.window,
        ...countedBy(v),
      }),
  }),
  counter: kind({
    title: 'Sliding window counter',
    choose: 'A limit of many thousands, in a few bytes. It is an estimate.',
    fields: { limit, window, segments: number('Segments', '6'), ...counted },
    policy: (name, v) =>
      call('slidingWindowCounter', {
        name,
        limit: v.limit,
        window: v.window,
        segments: v.segments,
        ...countedBy(v),
      }),
  }),
  fixed: kind({
    title: 'Fixed window',
    choose: 'A quota of a fixed grid; twice the limit may pass around the border of two windows.',
    fields: { limit, window, ...counted },
    policy: (name, v) =>
      call('fixedWindow', {
        name,
        limit: v.limit,
        window: v.window,
        ...countedBy(v),
      }),
  }),
  session: kind({
    title: 'Window from first use',
    choose: 'An allowance that begins with the first request, such as one of five hours.',
    fields: { limit, length: duration('Length', '5m'), ...counted },
    policy: (name, v) =>
      call('sessionWindow', {
        name,
        limit: v.limit,
        length: v.length,
        ...countedBy(v),
      }),
  }),
  bucket: kind({
    title: 'Token bucket',
    choose: 'A rate that allows a burst after a quiet time.',
    fields: { limit, window, burst: optionalNumber('Burst', '20'), ...counted },
    policy: (name, v) =>
      call('tokenBucket', {
        name,
        limit: v.limit,
        window: v.window,
        burst: v.burst,
        ...countedBy(v),
      }),
  }),
  leaky: kind({
    title: 'Leaky bucket',
    choose: 'An upstream that must not see bursts: requests wait their turn.',
    fields: {
      limit,
      window,
      burst: number('Queue', '20'),
      wait: optionalDuration('Longest wait, or 0s', '10s'),
      ...counted,
    },
    policy: (name, v) =>
      call('leakyBucket', {
        name,
        limit: v.limit,
        window: v.window,
        burst: v.burst,
        wait: v.wait,
        ...countedBy(v),
      }),
  }),
  daily: kind({
    title: 'Daily cap',
    choose: 'A quota of each calendar day.',
    fields: { limit: number('Limit', '500'), ...counted },
    policy: (name, v) => call('dailyCap', { name, limit: v.limit, ...countedBy(v) }),
  }),
  monthly: kind({
    title: 'Monthly cap',
    choose: 'A quota of each calendar month.',
    fields: { limit: number('Limit', '5000'), ...counted },
    policy: (name, v) => call('monthlyCap', { name, limit: v.limit, ...countedBy(v) }),
  }),
  budget: kind({
    title: 'Budget in dollars',
    choose: 'Money for model calls: each reserves an estimate, and is settled at its real price.',
    fields: {
      daily: optionalDollars('Dollars a day', '1'),
      monthly: optionalDollars('Dollars a month', '20'),
      per,
    },
    policy: (name, v) =>
      call('budget', { name, daily: v.daily, monthly: v.monthly, per: perOf(v.per) }),
  }),
  concurrency: kind({
    title: 'Calls in flight',
    choose: 'As many calls at the same time, however long each takes.',
    fields: { limit: number('Limit', '5'), maxDuration: duration('Longest call', '5m'), per },
    policy: (name, v) =>
      call('concurrency', {
        name,
        limit: v.limit,
        maxDuration: v.maxDuration,
        per: perOf(v.per),
      }),
  }),
  shares: kind({
    title: 'Fair shares',
    choose: 'One limit for all that no tenant may use up: idle parts are lent and come back.',
    fields: {
      limit: number('Limit for all', '120'),
      window,
      guarantee: optionalNumber('Guarantee for each'),
      unit,
    },
    policy: (name, v) =>
      call(
        'fairShare',
        call('slidingWindow', {
          name,
          limit: v.limit,
          window: v.window,
          unit: unitOf(v.unit),
          per: 'global',
        }),
        { between: ['tenant'], guarantee: v.guarantee },
      ),
  }),
  credits: kind({
    title: 'Credits',
    choose: 'A balance that you sell: 0 until a grant, and nothing but a grant fills it again.',
    fields: { amount: someDollars('Grant in dollars', '1') },
    policy: (name) =>
      call('credits', {
        name,
        // Each of several balances has an account of its own.
        ledger: name === 'credits' ? undefined : name,
        per: ['tenant'],
        unsettled: 'keep',
      }),
    grant: (v) => v.amount,
  }),
} as const satisfies Record<string, PolicyKind>

export type PolicyName = keyof typeof POLICY_KINDS
