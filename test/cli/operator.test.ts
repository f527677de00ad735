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
    ['--tenant acme --cost usd=49', "--cost counts dollars: write usd='$49', with the sign"],
    ['--tenant acme --cost token=$4', '--cost counts tokens, not dollars: token=4'],
    ['--tenant acme', 'a policy counts by route: add --route NAME'],
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
    const args = ['set', 'budget', 'limit=$20.50', '--yes']
    const { out } = await app.sluice([...args, '--json'])
    expect(JSON.parse(out)).toMatchObject({ changes: { limit: 20_500_000 }, made: true })
    expect((await app.sluice(args)).out).toContain('limit $20.50 -> $20.50')
  })

  it('applies now: it ends a change until a time', async () => {
    const raise = [
      'raise',
      'rpm',
      '120',
      '--tenant',
      'acme',
      '--until',
      '2027-01-01T00:00Z',
      '--yes',
    ]
    await app.sluice(raise)
    expect(await limitOf()).toBe(120)
    const args = ['set', 'rpm', 'limit=5', '--tenant', 'acme']
    expect((await app.sluice(args)).out).toContain(
      'rpm (tenant=acme): limit 120 (until 2027-01-01 00:00Z) -> 5\n',
    )
    await app.sluice([...args, '--yes'])
    expect(await limitOf()).toBe(5)
    await app.sluice(raise)
    const end = await app.sluice(['set', 'rpm', 'until=null', '--tenant', 'acme', '--yes'])
    expect(end.out).toContain('limit 120 (until 2027-01-01 00:00Z) -> 5\n')
    expect(await limitOf()).toBe(5)
  })

  const MISTAKES: readonly (readonly [args: string, says: string])[] = [
    ['rpm', 'name a policy and a setting'],
    ['nope limit=5', 'src/limits.ts has no policy "nope", but rpm, daily, budget, all'],
    ['rpm limit', 'limit must be SETTING=VALUE'],
    ['rpm limit=5 --route chat', '"rpm" counts by tenant: add --tenant NAME'],
    ['all limit=5 --tenant acme', '"all" is one limit for everyone: leave out tenant=acme'],
    ['rpm limit=-5 --yes', 'must be a whole number from 0'],
    ['rpm limit=-5', 'must be a whole number from 0'],
    [
      'daily limit=5 --yes',
      'runtimeConfiguration does not allow to change daily, but "rpm", "all", "budget"',
    ],
    ['rpm burst=5 --yes', 'runtimeConfiguration does not allow to change rpm.burst, but "limit"'],
    [
      'budget limit=20 --yes',
      "budget counts dollars: write limit='$20', with the sign and in quotes",
    ],
    ['budget limit=0', "budget counts dollars: write limit='$0'"],
    ['rpm limit=$5', 'rpm counts requests, not dollars: limit=5'],
    ['rpm limit=5 limit=6', 'limit is given twice'],
    ['rpm limit=5 --tenant a --tenant b', '--tenant is given twice'],
    ['rpm limit=5 --tenant a --route x', '"rpm" counts by tenant: leave out route=x'],
    ['rpm limit=5 --until 2027-02-30T00:00Z', '--until 2027-02-30T00:00Z must be a duration'],
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
      /^rpm \(tenant=acme\): limit as in the code -> 120, until \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z\nNothing is changed\. Add --yes to change it\.$/,
    )
    expect(await limitOf()).toBe(20)
    await app.sluice(['set', 'rpm', 'limit=30', '--tenant', 'acme', '--yes'])
    const soon = new Date(Date.now() + 60_000).toJSON()
    expect((await app.sluice([...args, soon, '--yes'])).out).toContain('limit 30 -> 120')
    expect(await limitOf()).toBe(120)
    expect((await app.sluice(['show', '--tenant', 'acme', '--route', 'chat'])).out).toContain(
      `rpm (tenant=acme): limit=120 until ${soon.slice(0, 19).replace('T', ' ').replace(/:00$/, '')}Z, then limit=30`,
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
    ['daily 120 --until 24h', 'does not allow to change daily'],
    ['budget 120 --until 24h', "budget counts dollars: write limit='$120'"],
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
      'rpm (tenant=acme): 3 requests used',
      'daily (tenant=acme route=chat): 3 requests used',
      'daily (tenant=acme route=other): 0 requests used',
      'budget (tenant=acme): $1.25 used',
      'Nothing is removed. Add --yes to remove it.',
    ])
    expect(await used()).toEqual([3, 3, 1_250_000, 3])
    expect((await app.sluice([...args, '--yes'])).out).toContain('Removed.')
    expect(await used()).toEqual([0, 0, 0, 3])
  })

  it('resets the policies that are named, and asks for what they count by alone', async () => {
    await running.check(ACME, { cost: { request: 3, usd: 1_250_000 } })
    const { out } = await app.sluice(['reset', '--tenant', 'acme', '--policies', 'rpm', '--yes'])
    expect(out).toBe('rpm (tenant=acme): 3 requests used\nRemoved.')
    const all = await app.sluice(['reset', '--policies', 'all', '--yes'])
    expect(all.out).toBe('all (everyone): 3 requests used\nRemoved.')
    const { policies } = await running.peek(ACME, FREE)
    expect(policies.map(({ burst, remaining }) => burst - remaining)).toEqual([0, 3, 1_250_000, 0])
  })

  it('shows the settings that it removes', async () => {
    await app.sluice(['set', 'rpm', 'limit=5', '--tenant', 'acme', '--yes'])
    const args = ['reset', '--tenant', 'acme', '--policies', 'rpm', '--settings']
    expect((await app.sluice(args)).out.split('\n')).toEqual([
      'rpm (tenant=acme): 0 requests used',
      'Set for rpm (tenant=acme): limit=5',
      'Nothing is removed. Add --yes to remove it.',
    ])
    await app.sluice([...args, '--yes'])
    expect(await limitOf()).toBe(20)
  })

  it.each([
    ['', 'name who begins anew, such as --tenant acme'],
    ['--policies rpm', 'name who begins anew, such as --tenant acme'],
    [
      '--tenant acme',
      '"daily" counts by tenant and route: add --route NAME, or several: --routes A,B',
    ],
    ['--tenant acme --routes a --route b', 'name the route by --route, or several by --routes'],
    ['--tenant acme --policies nope,rpm', 'reset.policies: must be one of'],
  ])('refuses, without --yes, too: %s', async (args, says) => {
    const { err, exitCode } = await app.sluice([
      'reset',
      ...args.split(' ').filter((one) => one !== ''),
    ])
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
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

describe('the range of sluice usage', () => {
  it.each([
    ['--from 2026-02-30', '--from 2026-02-30 must be a date, such as 2026-11-01'],
    ['--to soon', '--to soon must be a date'],
    ['--from 2026-11-02T10:00', 'a time with a zone'],
    ['--from 2026-11-02 --to 2026-11-01', 'must be before'],
    ['--top 0', '--top 0 must be a number from 1'],
    ['--csv --json', 'name one'],
  ])('refuses: %s', async (args, says) => {
    const { err, exitCode } = await app.sluice(['usage', ...args.split(' ')])
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
  })

  it('may begin a duration ago', async () => {
    expect((await app.sluice(['usage', '--from', '3h'])).exitCode).toBe(0)
  })
})

const printableOnly = (text: string): string => text.replaceAll(/[\p{Cc}\u202E]/gu, '')

describe('names that anybody may send', () => {
  const HOSTILE = 'evil\u001B[31mRED\u0007\nFAKE 999\u202E\u009B1m'
  const SHOWN = String.raw`evil\u001b[31mRED\u0007\u000aFAKE 999\u202e\u009b1m`

  it.each([
    ['usage'],
    ['show --route x --tenant'],
    ['why --route x --tenant'],
    ['set rpm limit=5 --tenant'],
    ['reset --routes x --tenant'],
  ])('are shown, and not obeyed by the terminal: sluice %s', async (command) => {
    await running.check({ tenant: HOSTILE, route: HOSTILE }, FREE)
    await flushUsage(running)
    const args = command.split(' ')
    const { out } = await app.sluice(command === 'usage' ? args : [...args, HOSTILE])
    expect(out).toContain(SHOWN)
    expect(out.replaceAll('\n', '')).toBe(printableOnly(out))
    const json = await app.sluice([...args, ...(command === 'usage' ? [] : [HOSTILE]), '--json'])
    expect(JSON.stringify(JSON.parse(json.out))).toContain(JSON.stringify(HOSTILE).slice(1, -1))
    expect(json.out.replaceAll('\n', '')).toBe(printableOnly(json.out))
  })

  it('are not obeyed in errors, either', async () => {
    const { err } = await app.sluice(['set', HOSTILE, 'limit=5'])
    expect(err.replaceAll('\n', '')).toBe(printableOnly(err))
  })
})

describe('without its store', () => {
  it.each([
    ['http://user:pw@127.0.0.1:9', 'without a user or password'],
    ['redis://127.0.0.1:9', 'must be an http(s) URL'],
    ['rubbish', 'must be an http(s) URL'],
  ])('no command reports success with the address %s', async (url, says) => {
    app.write('.env.local', envOf({ url, token: 'secret-token' }))
    for (const command of ['show', 'set rpm limit=5', 'usage', 'why --tenant a --route b']) {
      const { out, err, exitCode } = await app.sluice(command.split(' '))
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 })
      expect(out + err).toContain(says)
      expect(out + err).not.toMatch(/secret-token|pw@/)
    }
  })

  it('fails, and prints a code for programs; the limits of the code are shown', async () => {
    app.write('.env.local', envOf({ ...redis.local, token: 'wrong' }))
    const shown = await app.sluice(['show'])
    expect(shown.exitCode).toBe(1)
    expect(shown.out).toContain('starter 20, growth 60')
    expect(shown.out).toContain('What was changed at run time is not known: The store refused')
    const why = await app.sluice(['why', '--tenant', 'acme', '--route', 'chat'])
    expect(why.exitCode).toBe(1)
    for (const command of ['set rpm limit=5', 'usage', 'show']) {
      const { out, exitCode } = await app.sluice([...command.split(' '), '--json'])
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 })
      expect(JSON.parse(out)).toMatchObject({ error: { code: 'store_unauthorized' } })
    }
  })
})
