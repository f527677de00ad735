import { flushUsage } from '@sluice/usage'
import { denialId, flushDenials } from '@sluice/usage/denials'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { ACME, createOperator, FREE, jsonOf, type Operator } from '../operator.ts'
import { NODES, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

let app: Operator['app']
let running: Operator['running']
beforeEach(() => {
  ;({ app, running } = createOperator(redis.local))
})

describe('sluice show', () => {
  it.each(NODES)(
    'lists the limits of a TypeScript file, also on another Node.js (%s)',
    async (node) => {
      const { out, err, exitCode } = await app.terminal(['show'], node)
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
      'tenant=acme route=chat (plan starter)',
      'It asks for 1 request and $0.05.',
      'Denied by rpm: 20 of 20 requests used, and it asks for 1.',
      expect.stringMatching(/^ {2}It fits in (\d+s|1m) if nothing else is charged\.$/),
      '  It fits now with a limit of 21 for rpm.',
      '  daily: 20 of 500 requests used',
      '  budget: $1.25 of $50.00 used',
      '  all: 20 of 1000 requests used',
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

  it('tells of a 429 of the last day by its id', async () => {
    await running.check(ACME, { cost: { request: 20, usd: 1_250_000 } })
    const denied = await running.check(ACME, { cost: { request: 2, usd: 0 } })
    const request = new Request('https://app.example', { headers: { 'x-request-id': 'req_7' } })
    if (!denied.allowed) denialId()(denied, request)
    await flushDenials(running)
    const args = ['why', '--tenant', 'acme', '--id']
    const { out, err } = await app.sluice([...args, 'req_7'])
    expect(err).toBe('')
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z tenant=acme route=chat$/),
      'Denied by rpm: 20 of 20 requests used, and it asked for 2.',
      expect.stringMatching(
        /^ {2}It would have fitted (\d+s|1m) later, if nothing else was charged\.$/,
      ),
      '  daily: 20 of 500 requests used',
      '  budget: $1.25 of $50.00 used',
      '  all: 20 of 1000 requests used',
    ])
    expect(jsonOf(await app.sluice([...args, 'req_7', '--json']))).toMatchObject({
      tenant: 'acme',
      denial: { id: 'req_7', policies: [{ name: 'rpm', cost: 2 }, {}, {}, {}] },
    })
    const none = await app.sluice([...args, 'req_8'])
    expect([none.exitCode, none.err]).toEqual([
      1,
      expect.stringContaining('acme has no recorded denial with the id req_8: '),
    ])
    const now = ['why', '--tenant', 'acme', '--route', 'chat']
    const asked = await app.sluice(now)
    expect(asked.out.split('\n').slice(1, 3)).toEqual([
      expect.stringMatching(
        /^It asks for 2 requests and \$0\.00, as the denial of \S+ \S+Z did\.$/,
      ),
      'Denied by rpm: 20 of 20 requests used, and it asks for 2.',
    ])
    expect(jsonOf(await app.sluice([...now, '--json']))).toMatchObject({
      cost: { request: 2, usd: 0 },
      denial: 'req_7',
    })
    const recent = await app.sluice(['why', '--tenant', 'acme', '--recent'])
    expect(recent.out).toMatch(
      /^time +id +denied by\n\S+ \S+ +req_7 +rpm: 20 of 20 requests used, 2 asked for$/,
    )
    const nobody = await app.sluice(['why', '--tenant', 'other', '--recent'])
    expect([nobody.exitCode, nobody.out]).toEqual([
      0,
      'No denial of other is recorded since yesterday (UTC). One is saved some seconds after it.',
    ])
    const stray = await app.sluice([...args, 'req_7', '--route', 'chat'])
    expect(stray.err).toContain('--id needs the tenant, and nothing else')
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
      'tenant=acme route=chat (plan starter)',
      'It asks for 1 request and $1.00.',
      'Allowed.',
      '  rpm: 3 of 20 requests used',
      '  daily: 3 of 500 requests used',
      '  budget: $0.00 of $50.00 used',
      '  all: 3 of 1000 requests used',
    ])
  })

  it.each([
    ['', 'name who was denied'],
    ['--tenant acme --cost token', '--cost token must be a unit and an amount, such as token=1200'],
    ['--tenant acme --id x --recent', '--id and --recent cannot be given together'],
    ['--tenant acme --id x --cost token=1', '--id and --cost cannot be given together'],
    ['--tenant acme --recent --cost token=1', '--recent and --cost cannot be given together'],
    ['--tenant acme --top 3', '--top needs --recent'],
    ['--tenant acme --subject tenant=b', 'the dimension "tenant" is given twice'],
    ['--tenant acme --cost usd=much', '--cost usd=much must be a unit and an amount'],
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

  it('aligns names by the columns of a terminal that they take', async () => {
    const widths = [
      ['acme', 4],
      ['東京支店', 8],
      ['👨‍👩‍👧', 2],
      ['한'.repeat(40), 59],
    ] as const
    for (const [tenant] of widths) await running.check({ ...ACME, tenant }, FREE)
    await flushUsage(running)
    const lines = (await app.sluice(['usage'])).out.split('\n')
    // A name is cut at 60 columns: 29 characters of two, and an ellipsis.
    const texts = widths.map(
      ([name, width]) => [name.length < 40 ? name : `${name.slice(0, 29)}…`, width] as const,
    )
    for (const [name, width] of texts) {
      expect(lines).toContain(`${name}${' '.repeat(59 - width)}        1       0       0    $0.00`)
    }
  })

  it.each([
    ['--by day --zone Asia/Kolkata', 'Asia/Kolkata', 'day'],
    ['--zone America/St_Johns', 'America/St_Johns', 'day'],
    ['--by month --anchor 2026-01-31T06', 'UTC', 'month'],
    ['--by week', 'UTC', 'week'],
  ])('has local times and a line for each period: %s', async (args, zone, by) => {
    await running.check(ACME, { cost: { request: 1, usd: 1_250_000 } })
    await flushUsage(running)
    const { out } = await app.sluice(['usage', ...args.split(' '), '--tenants', 'acme'])
    const local = `\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d`
    expect(out).toMatch(new RegExp(`^From ${local} to ${local} \\(${zone}\\)\n`))
    expect(out).toMatch(new RegExp(`\n${by} from +allowed +denied +tokens +dollars\n${local} +\\d`))
  })

  it('reads dates in its zone, and prints them with it for billing', async () => {
    await running.check(ACME, FREE)
    await flushUsage(running)
    const zoned = ['usage', '--zone', 'Asia/Kolkata', '--from', '2026-01-01', '--to', '2026-01-02']
    expect((await app.sluice(zoned)).out).toBe(
      'Nothing is recorded from 2026-01-01 00:00 to 2026-01-02 00:00 (Asia/Kolkata).',
    )
    const { out } = await app.sluice(['usage', '--zone', 'Asia/Kolkata', '--csv'])
    expect(out).toMatch(/,time_zone\r?\n\d{4}-\d\d-\d\dT00:00:00\+05:30,.*,Asia\/Kolkata(\r|\n|$)/)
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
    ['--zone Mars/Olympus', 'usage.zone: must be a time zone'],
    ['--by day --anchor 2026-02-30', 'usage.anchor: must be a date'],
    ['--by fortnight', 'usage.by: must be'],
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
