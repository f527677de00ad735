import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { ACME, createOperator, FREE, jsonOf, type Operator } from '../operator.ts'
import { removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

let app: Operator['app']
let running: Operator['running']
let limitOf: Operator['limitOf']
beforeEach(() => {
  ;({ app, running, limitOf } = createOperator(redis.local))
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
    expect(JSON.parse(out)).toMatchObject({
      policies: [{ policy: 'budget', changes: { limit: 20_500_000 } }],
      made: true,
    })
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

  it('ends with the window of a cap, and names a policy that has none', async () => {
    const args = ['budget', 'limit=$5', '--until', 'window', '--yes']
    expect((await app.sluice(['set', ...args])).out).toMatch(/, until \d{4}-\d\d-01 00:00Z\n/)
    const refused = await app.sluice(['raise', 'rpm', '120', '--until', 'window'])
    expect(refused).toMatchObject({
      err: expect.stringContaining('the window of rpm ends at no one time') as string,
      exitCode: 1,
    })
  })

  const MISTAKES: readonly (readonly [args: string, says: string])[] = [
    ['rpm', 'name a policy and a setting'],
    ['nope limit=5', 'src/limits.ts has no policy "nope", but rpm, daily, budget, all'],
    ['rpm limit', 'limit must be a setting and its value, such as limit=30'],
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
    [
      'rpm limit=5 --subject x',
      '--subject x must have a name and a value, such as --subject project=p1',
    ],
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
