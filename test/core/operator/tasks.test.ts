import {
  createLimiter,
  dailyCap,
  manualClock,
  monthlyCap,
  sessionWindow,
  slidingWindow,
} from '@sluice/core'
import { createApiKey, listApiKeys } from '@sluice/core/api-keys'
import { calendar, type CalendarOptions } from '@sluice/core/calendars'
import { configure, readConfiguration, runtimeConfiguration } from '@sluice/core/configuration'
import { settingText } from '@sluice/core/internal/operator'
import { memory } from '@sluice/core/memory'
import {
  createKey,
  endKey,
  OperatorError,
  planKey,
  removeKey,
  replaceKey,
  resetUse,
  setLimits,
  start,
  stop,
  type OperatorTask,
} from '@sluice/core/operator'
import { beforeEach, describe, expect, it } from 'vitest'

const ACME = { tenant: 'acme' }
const SEARCH = { tenant: 'acme', team: 'search' }

const words: OperatorTask['words'] = {
  option: (name, value) => (value === undefined ? `"${name}"` : `"${name}": ${value}`),
  pair: (name, value) => `"${name}": "${value}"`,
  dimension: (name, value) => `"${name}": "${value}"`,
  keysOf: (tenant) => `GET keys of ${tenant}`,
  startOf: (subject) => `POST start of ${Object.values(subject).join('/')}`,
  file: 'limits.ts',
}

let task: OperatorTask
beforeEach(() => {
  const limiter = createLimiter({
    store: memory(),
    policies: [
      slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'team', limit: 3, per: ['tenant', 'team'], onMissing: 'skip' }),
    ],
    extensions: [runtimeConfiguration({ allow: { rpm: ['limit'], team: ['limit'] } })],
  })
  task = { limiter, words, confirm: async () => {} }
})

/** Returns the error of a task that cannot be done. */
const errorOf = async (done: Promise<unknown>): Promise<[kind: string, text: string]> => {
  const error: unknown = await done.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof OperatorError)) throw new Error('It was done', { cause: error })
  return [error.kind, error.message]
}

/** The ends of changes until a time. */
const endsOf = async ({ limiter }: OperatorTask) =>
  (await readConfiguration(limiter)).map(({ temporary }) =>
    new Date(temporary?.until ?? 0).toJSON(),
  )

const allows = async (subject: Readonly<Record<string, string>>): Promise<boolean> =>
  (await task.limiter.check(subject)).allowed

describe('a task of an operator', () => {
  it.each<[string, (task: OperatorTask, id: string) => Promise<unknown>]>([
    ['creates no key', (own) => createKey(own, ACME)],
    ['replaces no key', (own, id) => replaceKey(own, id)],
    ['plans no key', (own, id) => planKey(own, id, 'growth')],
    ['ends no key', (own, id) => endKey(own, id, '1h')],
    ['removes no key', (own, id) => removeKey(own, id)],
    ['sets no limit', (own) => setLimits(own, { policy: 'rpm', settings: { limit: '9' } }, ACME)],
    ['stops nobody', (own) => stop(own, ACME)],
    ['resets nothing', (own) => resetUse(own, ACME)],
  ])('%s without a confirmation, nor if that fails', async (_, run) => {
    const { id } = await createApiKey(task.limiter, ACME)
    await task.limiter.check(ACME)
    const state = async () => [
      await listApiKeys(task.limiter, 'acme'),
      await readConfiguration(task.limiter),
      (await task.limiter.peek(ACME)).policies[0]?.remaining,
    ]
    const before = await state()
    await run({ limiter: task.limiter, words }, id)
    expect(await state()).toEqual(before)
    const stopped = run({ ...task, confirm: () => Promise.reject(new Error('no')) }, id)
    await expect(stopped).rejects.toThrow('no')
    expect(await state()).toEqual(before)
    await run(task, id)
    expect(await state()).not.toEqual(before)
  })

  it.each<[string, (task: OperatorTask, id: string) => Promise<unknown>]>([
    ['replaced', (own, id) => replaceKey(own, id)],
    ['ended', (own, id) => endKey(own, id, '0')],
    ['planned', (own, id) => planKey(own, id, 'growth')],
    ['removed', (own, id) => removeKey(own, id)],
  ])('treats a key that it may not manage like none: %s', async (_, run) => {
    const { id } = await createApiKey(task.limiter, { tenant: 'globex' })
    const own = { ...task, mayManage: () => false }
    const none = 'key_0123456789abcdef'
    const texts = [await errorOf(run(own, id)), await errorOf(run(own, none))]
    expect(texts[0]).toEqual(['absent', `there is no key ${id}. List them: GET keys of NAME`])
    expect(texts[1]).toEqual(['absent', `there is no key ${none}. List them: GET keys of NAME`])
    expect(await listApiKeys(task.limiter, 'globex')).toMatchObject([{ id }])
  })

  it('stops a team and no other, and starts it with what it had', async () => {
    await configure(task.limiter, { team: { limit: 2 } }, SEARCH)
    await stop({ ...task, author: { by: 'ann', note: 'a loop' } }, SEARCH)
    expect(await allows(SEARCH)).toBe(false)
    expect(await allows({ ...ACME, team: 'ads' })).toBe(true)
    const set = setLimits(task, { policy: 'team', settings: { limit: '9' } }, SEARCH)
    expect(await errorOf(set)).toEqual([
      'conflict',
      'nothing is changed: acme search is stopped by ann (a loop): POST start of acme/search ends it.',
    ])
    await start(task, SEARCH)
    expect(await readConfiguration(task.limiter, SEARCH)).toMatchObject([
      { policy: 'team', settings: { limit: 2 } },
    ])
    expect((await start(task, SEARCH)).text).toBe('acme search is not stopped.')
  })

  describe('until the end of the window of a session', () => {
    const SET = { policy: 'plan', settings: { limit: '9' }, until: 'window' }
    const clock = manualClock(Date.UTC(2026, 0, 15, 12))
    const sessions = (options: object): OperatorTask => ({
      ...task,
      limiter: createLimiter({
        clock,
        store: memory(),
        policies: [
          dailyCap({ name: 'pages', limit: 5, per: ['tenant'], routes: ['page'] }),
          sessionWindow({ name: 'plan', limit: 5, length: '5h', ...ROUTES, ...options } as never),
        ],
        extensions: [runtimeConfiguration({ allow: { plan: ['limit'] } })],
      }),
    })
    const ROUTES = { per: ['tenant'], routes: ['chat'] }

    it.each<readonly [string, object, Readonly<Record<string, string>> | undefined]>([
      ['of a tenant', ROUTES, ACME],
      ['of everyone', { per: 'global' }, undefined],
    ])('%s, ends with it', async (_, options, subject) => {
      const own = sessions(options)
      await own.limiter.check({ ...ACME, route: 'chat' })
      clock.advance(3_600_000)
      await setLimits(own, SET, subject)
      expect(await readConfiguration(own.limiter, ...(subject ? [subject] : []))).toMatchObject([
        { temporary: { until: clock() + 4 * 3_600_000 } },
      ])
    })

    it.each<readonly [string, string, object, object | undefined, string]>([
      ['invalid', 'of everyone', {}, undefined, 'add "tenant": "NAME", or name a time'],
      ['conflict', 'that does not run', {}, { tenant: 'idle' }, 'runs now for tenant=idle. Name'],
      ['invalid', 'that charges prolong', { idle: '1h' }, ACME, 'each charge moves the end of'],
    ])('is refused as %s %s', async (kind, _, options, subject, says) => {
      const own = sessions(options)
      await own.limiter.check({ ...ACME, route: 'chat' })
      const [of, text] = await errorOf(setLimits(own, SET, subject as typeof ACME))
      expect([of, text]).toEqual([kind, expect.stringContaining(says)])
      expect(text).toMatch(/^"until" window: /)
    })
  })

  describe('a calendar', () => {
    const clock = manualClock(Date.UTC(2026, 10, 10, 12))
    const monthly = (options: CalendarOptions, ...allow: ('limit' | 'zone' | 'anchor')[]) => ({
      ...task,
      limiter: createLimiter({
        clock,
        store: memory(),
        policies: [
          monthlyCap({ name: 'monthly', limit: 5, per: ['tenant'], resets: calendar(options) }),
        ],
        extensions: [runtimeConfiguration({ allow: { monthly: allow } })],
      }),
    })
    const SET = { policy: 'monthly', settings: { limit: '9' }, until: 'window' }

    it('gets a zone and an anchor, which are shown as text', async () => {
      const own = monthly({}, 'zone', 'anchor')
      const settings = { zone: 'Asia/Tokyo', anchor: '2026-01-31T06' }
      const { text } = await setLimits(own, { policy: 'monthly', settings }, ACME)
      expect(text).toMatch(/^monthly \(tenant=acme\): zone as in the code -> Asia\/Tokyo$/m)
      expect(text).toMatch(/^monthly \(tenant=acme\): anchor as in the code -> 2026-01-31T06$/m)
      expect(text).toMatch(/^A zone or an anchor applies from the end of the period that runs\.$/m)
      const [entry] = await readConfiguration(own.limiter, ACME)
      expect(entry?.settings).toEqual(settings)
      expect(entry && settingText(entry)).toBe(
        '  monthly (tenant=acme): zone=Asia/Tokyo anchor=2026-01-31T06',
      )
      const none = { policy: 'monthly', settings: { zone: 'null', anchor: 'null' } }
      await setLimits(own, none, ACME)
      expect(await readConfiguration(own.limiter, ACME)).toEqual([])
    })

    it('ends a change for everyone with its month, where that is the same for all', async () => {
      const own = monthly({ zone: 'Asia/Tokyo' }, 'limit')
      await setLimits(own, SET, undefined)
      expect(await endsOf(own)).toEqual(['2026-11-30T15:00:00.000Z'])
    })

    it('ends a change of a tenant with the month that runs, also after its zone is changed', async () => {
      const own = monthly({ zone: 'Asia/Tokyo' }, 'limit', 'zone')
      await own.limiter.check(ACME)
      await configure(own.limiter, { monthly: { zone: 'Europe/Berlin' } }, ACME)
      await setLimits(own, SET, ACME)
      expect(await endsOf(own)).toEqual(['2026-11-30T15:00:00.000Z'])
    })

    it.each<readonly [string, object | undefined, string]>([
      ['invalid', undefined, 'each period of monthly has an end of its own: add "tenant": "NAME"'],
      ['conflict', ACME, 'no period of monthly runs now for tenant=acme. Name a time'],
    ])('of a function is refused as %s', async (kind, subject, says) => {
      const own = monthly({ zone: ({ zone }) => zone }, 'limit')
      const [of, text] = await errorOf(setLimits(own, SET, subject as typeof ACME))
      expect([of, text]).toEqual([kind, expect.stringContaining(`"until" window: ${says}`)])
    })
  })

  it('names its reader’s words in what it refuses', async () => {
    const own = { policy: 'rpm', settings: { limit: '$5' } }
    expect(await errorOf(setLimits(task, own, ACME))).toEqual([
      'invalid',
      'rpm counts requests, not dollars: "limit": "5"',
    ])
    expect(await errorOf(stop(task, { ...ACME, user: 'u' }))).toEqual([
      'invalid',
      "no policy counts by tenant and user alone, on all routes, but rpm, team: add one per ['tenant', 'user'] to limits.ts, and allow its limit by runtimeConfiguration",
    ])
  })
})
