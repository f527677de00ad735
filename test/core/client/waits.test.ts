import { retryingFetch, type RetryEvent } from '@sluice/core/client'
import { describe, expect, it } from 'vitest'
import { clientOf, NOON, refused, ADDRESS } from './support.ts'

const RESET = NOON / 1_000 + 20

describe('the wait that a refusal states is waited out', () => {
  it.each<[string, Record<string, string>, number]>([
    ['retry-after-ms', { 'retry-after-ms': '1337' }, 1_337],
    ['Retry-After in seconds', { 'Retry-After': '17' }, 17_000],
    ['Retry-After in parts of a second', { 'Retry-After': '0.729' }, 729],
    ['Retry-After as a date', { 'Retry-After': 'Sun, 01 Jun 2031 12:00:09 GMT' }, 9_000],
    ['a date that is past', { 'Retry-After': 'Sun, 01 Jun 2031 11:00:00 GMT' }, 0],
    [
      'a date, by the clock of the server',
      { 'Retry-After': 'Tue, 05 Mar 2030 10:00:07 GMT', Date: 'Tue, 05 Mar 2030 10:00:00 GMT' },
      7_000,
    ],
    ['the precise one of two', { 'retry-after-ms': '250', 'Retry-After': '1' }, 250],
    ['RateLimit', { RateLimit: '"rpm";r=0;t=12' }, 12_000],
    ['Retry-After before RateLimit', { 'Retry-After': '3', RateLimit: '"rpm";r=0;t=12' }, 3_000],
    ['only the used up policies', { RateLimit: '"daily";r=9;t=3600, "rpm"; r=0; t=12' }, 12_000],
    ['the longest of these', { RateLimit: '"a";r=0;t=4,"b";r=0;t=6' }, 6_000],
    ['policies that have too little left', { RateLimit: '"a";r=4;t=5' }, 5_000],
    ['names with separators', { RateLimit: '"a;r=0;t=9, \\"b\\"";r=0;t=5' }, 5_000],
    ['X-RateLimit-Reset in seconds', { 'X-RateLimit-Reset': '20' }, 20_000],
    ['X-RateLimit-Reset in epoch seconds', { 'X-RateLimit-Reset': String(RESET) }, 20_000],
    ['X-RateLimit-Reset in epoch ms', { 'X-RateLimit-Reset': `${RESET}000` }, 20_000],
  ])('%s', async (_, headers, waitMs) => {
    const { send, waits } = clientOf([refused(headers)])
    expect((await send(ADDRESS)).status).toBe(200)
    expect(waits).toEqual([waitMs])
  })

  it.each(['soon', '-1', '', '1e9', 'Mon', '12:00'])(
    'and %j, which states none, is a second, then two',
    async (text) => {
      const answer = () => refused({ 'Retry-After': text, RateLimit: text })
      const { send, waits } = clientOf([answer(), answer()])
      expect((await send(ADDRESS)).status).toBe(200)
      expect(waits).toEqual([1_000, 2_000])
    },
  )
})

/** Refusals as the documentation of these APIs shows them. */
const VENDORS: Readonly<Record<string, [status: number, headers: object, waits: number[]]>> = {
  OpenAI: [
    429,
    {
      'retry-after': '2',
      'retry-after-ms': '1200',
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1.2s',
    },
    [1_200],
  ],
  Anthropic: [
    429,
    {
      'retry-after': '17',
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2031-06-01T12:00:17Z',
    },
    [17_000],
  ],
  'GitHub, primary': [
    403,
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(RESET) },
    [20_000],
  ],
  'GitHub, secondary': [
    403,
    { 'retry-after': '60', 'x-ratelimit-remaining': '4990', 'x-ratelimit-reset': String(RESET) },
    [60_000],
  ],
  'Upstash Ratelimit': [
    429,
    {
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': `${RESET}000`,
    },
    [20_000],
  ],
  Cloudflare: [
    429,
    {
      Ratelimit: '"default";r=0;t=30',
      'Ratelimit-Policy': '"burst";q=100;w=60',
      'retry-after': '30',
    },
    [30_000],
  ],
  'Stripe, which states no wait': [429, { 'Stripe-Rate-Limited-Reason': 'global-rate' }, [1_000]],
}

it.each(Object.entries(VENDORS))('waits as %s documents it', async (_, [status, headers, all]) => {
  const { send, waits } = clientOf([refused(headers as Record<string, string>, status)])
  expect((await send(ADDRESS, { method: 'POST', body: '{}' })).status).toBe(200)
  expect(waits).toEqual(all)
})

describe('the time that a call may wait', () => {
  it('is not begun for a longer wait: the refusal comes back at once, whole', async () => {
    const { send, waits } = clientOf([refused({ 'Retry-After': '61' })])
    const response = await send(ADDRESS)
    expect([response.status, await response.text(), waits]).toEqual([429, 'Slow down.', []])
  })

  it('may be spent to its last millisecond', async () => {
    const { send, waits } = clientOf([refused({ 'retry-after-ms': '500' })], { maxWaitMs: 500 })
    expect((await send(ADDRESS)).status).toBe(200)
    expect(waits).toEqual([500])
  })

  it('is that of all its waits together', async () => {
    const answers = ['20', '25', '16'].map((seconds) => refused({ 'Retry-After': seconds }))
    const { send, waits } = clientOf(answers, { maxRetries: 10 })
    expect((await send(ADDRESS)).headers.get('retry-after')).toBe('16')
    expect(waits).toEqual([20_000, 25_000])
  })

  it('is each call for itself', async () => {
    const answers = [refused({ 'Retry-After': '50' }), new Response()]
    const { send, waits } = clientOf([...answers, refused({ 'Retry-After': '50' })])
    expect([(await send(ADDRESS)).status, (await send(ADDRESS)).status]).toEqual([200, 200])
    expect(waits).toEqual([50_000, 50_000])
  })

  it('ends with the last retry, whose answer comes back as it is', async () => {
    const answers = ['1', '2', '3'].map((seconds) => refused({ 'Retry-After': seconds }))
    const { send, waits } = clientOf(answers)
    expect((await send(ADDRESS)).headers.get('retry-after')).toBe('3')
    expect(waits).toEqual([1_000, 2_000])
  })

  it('is nothing without retries, or with a budget of 0', async () => {
    for (const options of [{ maxRetries: 0 }, { maxWaitMs: 0 }]) {
      const { send, waits } = clientOf([refused({ 'Retry-After': '1' })], options)
      expect([(await send(ADDRESS)).status, waits]).toEqual([429, []])
    }
  })
})

describe('the retries of many clients are spread', () => {
  it.each([
    ['by a tenth of a short wait', { 'Retry-After': '4' }, 4_200],
    ['by up to a second of a long one', { 'Retry-After': '40' }, 40_500],
    ['by as much again if none is stated', {}, 1_500],
  ])('%s', async (_, headers, waitMs) => {
    const { send, waits } = clientOf([refused(headers)], { random: () => 0.5 })
    await send(ADDRESS)
    expect(waits).toEqual([waitMs])
  })

  it('but not beyond the budget', async () => {
    const options = { random: () => 0.999, maxWaitMs: 4_010 }
    const { send, waits } = clientOf([refused({ 'Retry-After': '4' })], options)
    await send(ADDRESS)
    expect(waits).toEqual([4_010])
  })
})

it('tells of each retry before it waits', async () => {
  const events: RetryEvent[] = []
  const answers = [refused({ 'Retry-After': '1' }), refused({ 'Retry-After': '2' }, 403)]
  const { send } = clientOf(answers, { onRetry: (event) => events.push(event) })
  await send(ADDRESS)
  expect(events).toMatchObject([
    { retry: 1, waitMs: 1_000, status: 429 },
    { retry: 2, waitMs: 2_000, status: 403 },
  ])
  expect(events[1]?.headers.get('retry-after')).toBe('2')
})

describe('a mistake in the options is an error at construction', () => {
  it.each<[string, object]>([
    ['maxWaitMs', { maxWaitMs: -1 }],
    ['maxWaitMs', { maxWaitMs: '60s' }],
    ['maxWaitMs', { maxWaitMs: 3_600_001 }],
    ['maxWaitMs', { maxWaitMs: Infinity }],
    ['maxRetries', { maxRetries: 11 }],
    ['maxRetries', { maxRetries: 0.5 }],
    ['fetch', { fetch: 'https://api.example' }],
    ['onRetry', { onRetry: true }],
    ['clock', { clock: NOON }],
    ['sleep', { sleep: 1 }],
    ['random', { random: 0.5 }],
    ['maxWait', { maxWait: 5 }],
  ])('%s: %j', (option, options) => {
    expect(() => retryingFetch(options)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: `retryingFetch.${option}` }),
    )
  })
})
