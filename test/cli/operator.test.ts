import type { Limiter } from '@sluice/core'
import { flushUsage } from '@sluice/usage'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { BUDGET_FILE, instanceOf, limitsFile } from './limits.ts'
import { envOf, NODES, project, removeProjects, type Project, type Ran } from './project.ts'

const redis = sharedRedisOverHttp()

afterAll(removeProjects)

let app: Project
let prefix: string
/** The app that runs, elsewhere. */
let running: Limiter

/** Another instance of the app. */
const instance = (): Limiter => instanceOf(redis.local, prefix)

beforeEach(() => {
  prefix = freshPrefix()
  app = project({
    'src/limits.ts': limitsFile(prefix),
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
  })
  running = instance()
})

const ACME = { tenant: 'acme', route: 'chat' }
const FREE = { cost: { request: 1, usd: 0 } }

/** The limit that another instance decides by. */
const limitOf = async (subject = ACME) => (await instance().peek(subject, FREE)).policies[0]?.limit

/** What a command has printed as JSON. */
const jsonOf = ({ out }: Ran): Record<string, unknown> => JSON.parse(out) as never

describe('sluice show', () => {
  it.each(NODES)(
    'lists the limits of a TypeScript file, also on another Node.js (%s)',
    async (node) => {
      const { out, err, exitCode } = await app.sluice(['show'], { node })
      expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
      expect(out.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
        'policy | limit | unit | window | per',
        'rpm | starter 20, growth 60 | request | 1m | tenant',
        'daily | 500 | request | 1d | tenant+route',
        'budget | $50.00 | usd | 31d | tenant',
        'all | 1000 | request | 1m | global',
        '',
        'From src/limits.ts.',
      ])
    },
  )

  it('tells what a tenant has left, and charges nothing', async () => {
    await running.check(ACME, { cost: { request: 3, usd: 1_250_000 } })
    const args = ['show', '--tenant', 'acme', '--route', 'chat', '--plan', 'growth']
    const { out } = await app.sluice(args)
    const lines = out.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))
    expect(lines[0]).toBe('tenant=acme route=chat plan=growth (plan growth)')
    expect(lines[2]).toMatch(/^rpm \| 3 \| 60 \| 57 \| request \| in /)
    expect(lines[4]).toMatch(/^budget \| \$1\.25 \| \$50\.00 \| \$48\.75 \| usd \| in /)
    const { policies, subject } = jsonOf(await app.sluice([...args, '--json']))
    expect(subject).toEqual({ ...ACME, plan: 'growth' })
    expect(policies).toMatchObject([{ remaining: 57 }, { remaining: 497 }, {}, { remaining: 997 }])
  })
})

describe('sluice why', () => {
  it('tells what denies, what would let it pass, and who has used it up', async () => {
    await running.check(ACME, { cost: { request: 20, usd: 1_250_000 } })
    await flushUsage(running)
    const args = ['why', '--tenant', 'acme', '--route', 'chat']
    const { out } = await app.sluice([...args, '--cost', 'usd=$0.05'])
    expect(out.split('\n')).toEqual([
      'tenant=acme route=chat',
      'Denied by rpm: 20 of 20 requests used, and it asks for 1.',
      expect.stringMatching(/^ {2}It fits in (\d+s|1m) if nothing else is charged\.$/),
      '  It fits now with a limit of 21 for rpm.',
      'Used in the last hours, as recorded:',
      '  chat: 1 request, $1.25',
    ])
    const json = jsonOf(await app.sluice([...args, '--cost', 'usd=0', '--json']))
    expect(json).toMatchObject({
      denials: [{ policy: 'rpm', raise: { setting: 'limit', to: 21 } }],
      users: [{ what: 'chat', requests: 1, usd: 1_250_000 }],
    })
    expect((await running.peek(ACME, FREE)).policies[1]?.remaining).toBe(480)
  })

  it('of what is allowed says how full each limit is', async () => {
    await running.check(ACME, { cost: { request: 3, usd: 0 } })
    const { out } = await app.sluice([
      'why',
      '--tenant',
      'acme',
      '--route',
      'chat',
      '--cost',
      'usd=$1',
    ])
    expect(out.split('\n')).toEqual([
      'tenant=acme route=chat',
      'Allowed.',
      '  rpm: 3 of 20 requests used',
      '  daily: 3 of 500 requests used',
      '  budget: $0.00 of $50.00 used',
      '  all: 3 of 1000 requests used',
    ])
  })

  it.each([
    ['', 'name who was denied'],
    ['--tenant acme --cost token', '--cost token must be UNIT=N'],
    ['--tenant acme --cost usd=much', '--cost usd=much must be UNIT=N'],
    ['--tenant acme --route x', 'cost.usd: is missing, but a policy counts it'],
    ['--tenant acme --cost usd=1', 'subject.route'],
  ])('refuses: %s', async (args, says) => {
    const { err, exitCode } = await app.sluice([
      'why',
      ...args.split(' ').filter((one) => one !== ''),
    ])
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
  })
})

describe('sluice set', () => {
  it('shows a change, makes it with --yes, and takes it back', async () => {
    const args = ['set', 'rpm', 'limit=5', '--tenant', 'acme']
    expect((await app.sluice(args)).out).toBe(
      'rpm (tenant=acme): limit as in the code -> 5\nNothing is changed. Add --yes to change it.',
    )
    expect(await limitOf()).toBe(20)
    expect((await app.sluice([...args, '--yes'])).out).toContain('Changed.')
    expect(await limitOf()).toBe(5)
    expect(await limitOf({ ...ACME, tenant: 'other' })).toBe(20)
    expect((await app.sluice(['show'])).out).toContain('rpm (tenant=acme): limit=5')
    const back = await app.sluice(['set', 'rpm', 'limit=null', '--tenant', 'acme', '--yes'])
    expect(back.out).toContain('limit 5 -> as in the code')
    expect(jsonOf(await app.sluice(['show', '--json']))['settings']).toEqual([])
  })

  it('takes dollars, for everyone', async () => {
    const { out } = await app.sluice(['set', 'budget', 'limit=$20.50', '--yes', '--json'])
    expect(JSON.parse(out)).toMatchObject({ changes: { limit: 20_500_000 }, made: true })
  })

  const MISTAKES: readonly (readonly [args: string, says: string])[] = [
    ['rpm', 'name a policy and a setting'],
    ['nope limit=5', 'src/limits.ts has no policy "nope", but rpm, daily, budget, all'],
    ['rpm limit', 'limit must be SETTING=VALUE'],
    ['rpm limit=5 --route chat', '"rpm" counts by tenant: add --tenant NAME'],
    ['all limit=5 --tenant acme', '"all" is one limit for everyone: leave out tenant=acme'],
    ['rpm limit=-5 --yes', 'must be a whole number from 0'],
    ['rpm limit=-5', 'must be a whole number from 0'],
    ['daily limit=5 --yes', 'configure.daily: unknown option; expected "rpm", "all", "budget"'],
    ['rpm limit=5 --subject x', '--subject x must be NAME=VALUE'],
  ]
  it.each(MISTAKES)('refuses: %s', async (args, says) => {
    const { out, err, exitCode } = await app.sluice(['set', ...args.split(' ')])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain(says)
    expect(jsonOf(await app.sluice(['show', '--json']))['settings']).toEqual([])
  })
})

describe('sluice raise', () => {
  it('sets a limit that ends by itself', async () => {
    const args = ['raise', 'rpm', '120', '--tenant', 'acme', '--until']
    const shown = await app.sluice([...args, '24h'])
    expect(shown.out).toMatch(
      /^rpm \(tenant=acme\): limit as in the code -> 120, until \d{4}-\d\d-\d\d \d\d:\d\dZ\nNothing is changed\. Add --yes to change it\.$/,
    )
    expect(await limitOf()).toBe(20)
    await app.sluice(['set', 'rpm', 'limit=30', '--tenant', 'acme', '--yes'])
    const soon = new Date(Date.now() + 60_000).toJSON()
    expect((await app.sluice([...args, soon, '--yes'])).out).toContain('limit 30 -> 120')
    expect(await limitOf()).toBe(120)
    expect((await app.sluice(['show', '--tenant', 'acme', '--route', 'chat'])).out).toContain(
      `rpm (tenant=acme): limit=120 until ${soon.slice(0, 16).replace('T', ' ')}Z, then limit=30`,
    )
  })

  it.each([
    ['rpm', 'name a policy and a limit'],
    ['rpm 120', 'say until when, such as --until 24h'],
    ['rpm 120 --until soon', '--until soon must be a duration, such as 24h'],
    ['rpm 120 --until 2026-11-28T18:00', 'a time with a zone'],
    ['rpm 120 --until 2020-01-01T00:00Z', 'must be in the future'],
    ['rpm 120 --until 900d', 'at most 366 days from now'],
    ['rpm null --until 24h', 'must have a value until then'],
    ['rpm many --until 24h', 'must be a whole number from 0'],
    ['daily 120 --until 24h', 'configure.daily: unknown option'],
  ])('refuses, without --yes, too: %s', async (args, says) => {
    const { err, exitCode } = await app.sluice(['raise', ...args.split(' ')])
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
  })
})

describe('sluice reset', () => {
  it('shows what would be removed, and removes it with --yes', async () => {
    await running.check(ACME, { cost: { request: 3, usd: 1_250_000 } })
    const used = async () =>
      (await running.peek(ACME, FREE)).policies.map(({ burst, remaining }) => burst - remaining)
    const args = ['reset', '--tenant', 'acme', '--routes', 'chat,other']
    expect((await app.sluice(args)).out.split('\n')).toEqual([
      'tenant=acme',
      'rpm on chat: 3 requests used',
      'daily on chat: 3 requests used',
      'budget on chat: $1.25 used',
      'rpm on other: 3 requests used',
      'daily on other: 0 requests used',
      'budget on other: $1.25 used',
      'Nothing is removed. Add --yes to remove it.',
    ])
    expect(await used()).toEqual([3, 3, 1_250_000, 3])
    expect((await app.sluice([...args, '--yes'])).out).toContain('Removed.')
    expect(await used()).toEqual([0, 0, 0, 3])
  })

  it('refuses to reset everyone', async () => {
    const { err, exitCode } = await app.sluice(['reset', '--yes'])
    expect({ err, exitCode }).toMatchObject({
      err: expect.stringContaining('--tenant acme'),
      exitCode: 1,
    })
  })
})

describe('sluice usage', () => {
  it('sums up what each tenant used, and prints it for billing', async () => {
    await running.check(ACME, { cost: { request: 3, usd: 1_250_000 } })
    await running.check({ ...ACME, tenant: 'globex' }, FREE)
    await running.check(ACME, { cost: { request: 21, usd: 0 } })
    await flushUsage(running)
    const { out } = await app.sluice(['usage'])
    const lines = out.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ').trim())
    expect(lines.slice(2)).toEqual(['acme | 1 | 1 | 0 | $1.25', 'globex | 1 | 0 | 0 | $0.00'])
    expect((await app.sluice(['usage', '--top', '1'])).out).toContain('and 1 more: --top 2')
    const csv = (await app.sluice(['usage', '--csv', '--tenants', 'acme'])).out.split('\n')
    expect(csv[0]).toContain('tenant,')
    expect(csv.slice(1).every((line) => line.includes(',acme,'))).toBe(true)
    expect(jsonOf(await app.sluice(['usage', '--json']))['rows']).toHaveLength(3)
  })

  it('says when nothing is recorded', async () => {
    expect((await app.sluice(['usage', '--from', '2026-01-01', '--to', '2026-01-02'])).out).toBe(
      'Nothing is recorded from 2026-01-01T00:00Z to 2026-01-02T00:00Z.',
    )
  })
})
