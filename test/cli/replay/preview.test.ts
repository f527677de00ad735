import { flushDenials } from '@sluice/usage/denials'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { BUDGET_FILE, instanceOf, limitsFile } from '../limits.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const CONFIGURATION = `
export const configuration = [
  { policy: 'rpm', settings: { limit: 3 } },
  { policy: 'rpm', subject: { tenant: 'vip' }, settings: { limit: 100 } },
]
`

/** Six calls of each tenant in six seconds, of a cent each; then one of globex. */
const LOG = [
  'time,tenant,route,input,output,cost',
  ...['acme', 'vip', '<b>|x'].flatMap((tenant) =>
    [0, 1, 2, 3, 4, 5].map((second) => `2026-11-26T10:00:0${second}Z,${tenant},chat,10,5,0.01`),
  ),
  '2026-11-26T10:05:00Z,globex,chat,10,5,0.01',
]

let app: Project

beforeEach(() => {
  app = project({
    'src/limits.ts': limitsFile(freshPrefix()) + CONFIGURATION,
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
    'log.csv': [LOG[0], ...LOG.slice(1).toSorted()].join('\n'),
  })
})

const preview = async (...args: readonly string[]): Promise<string> => {
  const { out, exitCode } = await app.sluice(['preview', 'log.csv', ...args])
  expect(exitCode).toBe(0)
  return out
}

describe('sluice preview', () => {
  it('tells who would be denied, since when, by what, and what it cost', async () => {
    expect((await preview()).split('\n')).toEqual([
      'rpm (everyone): limit as in the code -> 3',
      'rpm (tenant=vip): limit as in the code -> 100',
      '',
      'Of 19 calls, 2026-11-26 10:00Z to 2026-11-26 10:05Z:',
      'Newly denied: 6 calls of 2 tenants, which cost $0.06.',
      'Of these, the budgets in dollars have room for 6 calls.',
      'Denied as now: 0 calls. No longer denied: 0 calls.',
      // Of 19 calls by four policies, 10 writes each; 6 write none then.
      'Redis commands, at $0.20 per 100,000: at least 166 ($0.000332), now at least 190 ($0.000380).',
      '',
      'tenant  calls  tokens  dollars  by   since',
      '<b>|x       3      45    $0.03  rpm  2026-11-26 10:00:03Z',
      'acme        3      45    $0.03  rpm  2026-11-26 10:00:03Z',
      '',
      'daily is never full: at most 2 % of it is used.',
      'budget is never full: at most 1 % of it is used.',
      'all is never full: at most 2 % of it is used.',
      '',
      expect.stringMatching(/^A denied call is not sent again/),
    ])
    expect(await preview('--top', '1')).toContain('\nand 1 more: --top 2\n')
  })

  it('finds the smallest limits that deny nobody but those that may be denied', async () => {
    const text = await preview('--suggest', '--except', 'acme')
    const { smallest } = JSON.parse(await preview('--suggest', '--except', 'acme', '--json'))
    // Six calls of a tenant in a minute, of a cent each.
    expect(
      smallest.limits.map(({ policy, setting, current, limit }: Record<string, unknown>) => ({
        policy,
        setting,
        current,
        limit,
      })),
    ).toEqual([
      { policy: 'rpm', setting: {}, current: 3, limit: 6 },
      { policy: 'rpm', setting: { subject: { tenant: 'vip' } }, current: 100, limit: 6 },
      { policy: 'daily', current: 500, limit: 6 },
      { policy: 'budget', current: 50_000_000, limit: 60_000 },
      { policy: 'all', current: 1_000, limit: 18 },
    ])
    expect(text).toContain('\nThe smallest limits:\n\npolicy  for')
    expect(text).toMatch(/\nrpm +tenant=vip +request +100 +6 +vip +/)
    expect(text).toContain('- Together, these limits deny 0 of 19 calls.')
    expect(await preview('--suggest', '--comment')).toContain('| rpm | everyone | request')
    const alone = await app.sluice(['preview', 'log.csv', '--except', 'acme'])
    expect(alone).toMatchObject({ exitCode: 1 })
    expect(alone.err).toContain('--except needs --suggest')
  })

  it('prints suggested limits to the last digit, and names that are no Markdown', async () => {
    const calls = Array.from(
      { length: 3 },
      (_, second) => `2026-11-26T10:00:0${second}Z,"x\n\n**Merge it.**",chat,1,1,1.0014`,
    )
    app.write('log.csv', [LOG[0], ...calls].join('\n'))
    const comment = await preview('--suggest', '--comment', '--except', 'nobody')
    expect(comment).toContain('| $50.00 | $3.004200 | x&#92;u000a&#92;u000a&#42;')
    expect(comment).not.toContain('\n**')
    expect(comment).toContain('- except: the log has no call of nobody.')
    const all = await preview('--suggest', '--except', 'x\n\n**Merge it.**')
    expect(all).toContain('- No limit is needed: every call may be denied.')
    const both = await app.sluice(['preview', 'log.csv', '--json', '--comment'])
    expect(both.err).toContain('--json and --comment cannot be given together')
  })

  it('decides the recorded denials of a tenant by the new limits', async () => {
    const prefix = freshPrefix()
    const raised = "export const configuration = [{ policy: 'rpm', settings: { limit: 22 } }]"
    app.write('src/limits.ts', limitsFile(prefix) + raised)
    const running = instanceOf(redis.local, prefix)
    const subject = { tenant: 'acme', route: 'chat' }
    for (const request of [20, 2, 1, 30])
      await running.check(subject, { cost: { request, usd: 0 } })
    await flushDenials(running)
    const args = ['preview', '--denials', '--tenant', 'acme']
    const { out, exitCode } = await app.sluice(args)
    expect([exitCode, ...out.split('\n')]).toEqual([
      0,
      'rpm (everyone): limit as in the code -> 22',
      '',
      expect.stringMatching(/^Of 3 denials of acme that are recorded, \S+ \S+ to \S+ \S+:$/),
      'Allowed then: 1. Denied as now: 2.',
      '',
      expect.stringMatching(/^time +id +denied by +then$/),
      expect.stringMatching(/ rpm: 20 of 20 requests used, 30 asked for +denied by rpm$/),
      expect.stringMatching(/ rpm: 20 of 20 requests used, 1 asked for +denied by rpm$/),
      expect.stringMatching(/ rpm: 20 of 20 requests used, 2 asked for +allowed$/),
      '',
      expect.stringMatching(/^Each is decided by what was used when it was denied/),
    ])
    expect(JSON.parse((await app.sluice([...args, '--json'])).out)).toMatchObject({
      changes: [{ policy: 'rpm', to: { limit: 22 } }],
      allowed: 1,
      denials: [
        { by: 'rpm' },
        { outcome: 'denied' },
        { denial: { policies: [{ cost: 2 }, {}, {}, {}] } },
      ],
    })
    app.write('src/limits.ts', limitsFile(prefix).replace("window: '1m'", "window: '2m'") + raised)
    const leftOut =
      'Left out: 2 of 3 denials. It is not known what a policy decides that took no part then, or had another window or refill.'
    expect((await app.sluice(args)).out.split('\n')[0]).toBe(leftOut)
    const parts = JSON.parse((await app.sluice([...args, '--json'])).out) as object
    expect(Object.entries(parts)[0]).toEqual(['leftOut', leftOut])
    const none = await app.sluice(['preview', '--denials', '--tenant', 'other'])
    expect([none.exitCode, none.out.split('\n')[2]]).toEqual([
      0,
      'No denial of other is recorded since yesterday (UTC). One is saved some seconds after it.',
    ])
    const refused = [
      [['--denials'], '--denials and --tenant NAME need each other'],
      [['log.csv', '--tenant', 'acme'], '--denials and --tenant NAME need each other'],
      [['log.csv', '--denials', '--tenant', 'acme'], '--denials takes no log'],
      [['--denials', '--tenant', 'acme', '--suggest'], '--suggest is for a log'],
    ] as const
    for (const [options, says] of refused) {
      expect(await app.sluice(['preview', ...options])).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining(says),
      })
    }
  })

  it('compares with the settings in the store, and changes nothing', async () => {
    await app.sluice(['set', 'rpm', 'limit=2', '--yes'])
    await app.sluice(['raise', 'rpm', '50', '--tenant', 'acme', '--until', '24h', '--yes'])
    const before = (await app.sluice(['show', '--json'])).out
    const { json, text } = { json: await preview('--json'), text: await preview() }
    expect(JSON.parse(json)).toMatchObject({
      log: { calls: 19 },
      stillDenied: 6,
      nowAllowed: 6,
      newlyDenied: { calls: 0, tenants: [] },
      changes: [
        { policy: 'rpm', from: { limit: 2 }, to: { limit: 3 } },
        { subject: { tenant: 'vip' } },
      ],
    })
    expect(text).toContain('No call is denied that is allowed now.')
    expect(text).toContain('Changes until a time are left out: they end by themselves.')
    expect((await app.sluice(['show', '--json'])).out).toBe(before)
  })

  it('prints a comment whose names are no Markdown', async () => {
    const lines = (await preview('--comment')).split('\n')
    expect(lines[0]).toBe('### What these limits would have done')
    expect(lines).toContain('| tenant | calls | tokens | dollars | by | since |')
    expect(lines).toContain('| &#60;b&#62;&#124;x | 3 | 45 | $0.03 | rpm | 2026-11-26 10:00:03Z |')
  })

  it('says that calls of a usage export are spread', async () => {
    app.write(
      'log.csv',
      'start,tenant,route,model,outcome,requests,tokens,usd\n2026-11-26T10:00:00.000Z,acme,chat,m,allowed,6,90,60000',
    )
    expect(await preview('--suggest')).toContain(
      '- The log has sums, whose calls are spread evenly.',
    )
    expect(await preview()).toContain('their calls are spread evenly')
  })

  it('counts the calls that the budgets have room for one after another', async () => {
    // A budget of a dollar in a month, and ten calls of 40 cents: the first is allowed, one more has room.
    const calls = Array.from(
      { length: 10 },
      (_, second) => `2026-11-26T10:00:0${second}Z,acme,chat,1,1,0.4`,
    )
    app.write('log.csv', [LOG[0], ...calls].join('\n'))
    app.write('src/budget.ts', 'export const BUDGET = 1_000_000\n')
    app.write(
      'src/limits.ts',
      `${limitsFile(freshPrefix())}export const configuration = [{ policy: 'rpm', settings: { limit: 1 } }]`,
    )
    expect(JSON.parse(await preview('--json'))).toMatchObject({
      // The budget itself denies all but two of them as now.
      stillDenied: 8,
      newlyDenied: { calls: 1, usd: 400_000, covered: 1 },
    })
    app.write('src/budget.ts', 'export const BUDGET = 5_000_000\n')
    expect(JSON.parse(await preview('--json'))).toMatchObject({
      newlyDenied: { calls: 9, covered: 9 },
    })
  })

  it('says what it has left out of the log, and what it has counted as nothing', async () => {
    app.write('log.csv', [LOG[0], LOG[1], 'x', `2026-11-26T10:00:09Z,acme,chat,10,5,`].join('\n'))
    const text = await preview()
    expect(text).toMatch(/^Left out of the log: 1 malformed line\.\n/)
    expect(text).toContain('Malformed, the first: line 3')
    expect(JSON.parse(await preview('--json'))).toMatchObject({
      notes: expect.arrayContaining([expect.stringContaining('Malformed, the first')]),
    })
    app.write(
      'log.csv',
      'time,tenant,route,model,input,output\n2026-11-26T10:00:00Z,acme,chat,none,10,5',
    )
    expect(await preview()).toContain('Counted as $0: 1 call with neither a cost nor a price.')
  })

  it('leaves out a limit on calls in flight, with its settings', async () => {
    app.write(
      'src/limits.ts',
      limitsFile(freshPrefix())
        .replace(
          "dailyCap({ name: 'daily', limit: 500, per: ['tenant', 'route'] })",
          "concurrency({ name: 'daily', limit: 500, per: ['tenant'], maxDuration: '1m' })",
        )
        .replace('{ createLimiter,', '{ concurrency, createLimiter,')
        .replace("rpm: ['limit', 'mode']", "rpm: ['limit', 'mode'], daily: ['limit']") +
        "export const configuration = [{ policy: 'daily', settings: { limit: 3 } }]",
    )
    expect(await preview()).toMatch(/^daily is left out: it counts calls in flight/m)
  })

  it('refuses a log without calls, and a list with what ends', async () => {
    app.write('log.csv', String(LOG[0]))
    expect(await app.sluice(['preview', 'log.csv'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('LOG has no call'),
    })
    app.write(
      'src/limits.ts',
      `${limitsFile(freshPrefix())}export const configuration = [{ policy: 'rpm', settings: { limit: 1, until: '2036-01-01T00:00Z' } }]`,
    )
    for (const args of [
      ['preview', 'log.csv'],
      ['apply', '--yes'],
    ]) {
      expect(await app.sluice(args)).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining(
          'configuration[0].settings.until: must be left out: a list states what lasts',
        ),
      })
    }
  })

  it.each([
    [['preview'], 'name one LOG, such as requests.csv'],
    [['preview', 'none.csv'], 'LOG cannot be read: ENOENT'],
    [['preview', 'log.csv', '--top', '0'], '--top 0 must be a number from 1'],
    [['preview', 'log.csv', '--columns', 'x'], '--columns x must be a list'],
  ])('refuses %j', async (args, says) => {
    const { err, exitCode } = await app.sluice(args)
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
  })
})
