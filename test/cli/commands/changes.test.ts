import type { Limiter } from '@sluice/core'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { BUDGET_FILE, instanceOf, limitsFile } from '../limits.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

let app: Project
let prefix: string

const CONFIGURATION = `
export const configuration = [
  { policy: 'rpm', settings: { limit: 30 } },
  { policy: 'budget', subject: { tenant: 'acme' }, settings: { limit: 80_000_000 } },
]
`

beforeEach(() => {
  prefix = freshPrefix()
  app = project({
    'src/limits.ts': limitsFile(prefix) + CONFIGURATION,
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
  })
})

const ACME = { tenant: 'acme', route: 'chat' }

/** The limits that another instance of the app decides by. */
const limits = async (subject = ACME): Promise<Record<string, unknown>> => {
  const limiter: Limiter = instanceOf(redis.local, prefix)
  const { policies } = await limiter.peek(subject, { cost: { request: 1, usd: 0 } })
  return Object.fromEntries(policies.map(({ name, limit }) => [name, limit]))
}

const sluice = async (text: string): Promise<string> => {
  const { out, err, exitCode } = await app.sluice(text.split(' '))
  expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
  return out
}

describe('limits as code', () => {
  it('are shown, applied, listed and taken back', async () => {
    await sluice('set rpm limit=25 --by ann --yes')
    const lines = [
      'rpm (everyone): limit 25 -> 30',
      'budget (tenant=acme): limit as in the code -> $80.00',
    ]
    const shown = (await sluice('apply')).split('\n')
    expect(shown.slice(0, 2)).toEqual(lines)
    const [, ifVersion = ''] =
      /^Nothing is changed\. To change it: sluice apply --yes (--if-version \S+)$/.exec(
        shown[2] ?? '',
      ) ?? []
    expect(await limits()).toMatchObject({ rpm: 25 })
    const made = (await sluice(`apply --yes ${ifVersion} --by ann --note launch`)).split('\n')
    expect(made.slice(0, 2)).toEqual(lines)
    expect(await limits()).toMatchObject({ rpm: 30 })
    expect(await sluice('apply --yes')).toBe('The settings in the store are those of the file.')
    const heads = (await sluice('log')).split('\n').filter((line) => !line.startsWith('  '))
    expect(heads).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z ann: launch$/),
      expect.stringMatching(/Z ann$/),
    ])
    expect((await sluice('undo')).split('\n')).toEqual([
      'rpm (everyone): limit 30 -> 25',
      'budget (tenant=acme): limit $80.00 -> as in the code',
      expect.stringMatching(
        /^Nothing is changed\. To change it: sluice undo --yes --if-version \S+$/,
      ),
    ])
    expect(await limits()).toMatchObject({ rpm: 30 })
    await sluice('undo --yes --by bob')
    expect(await limits()).toMatchObject({ rpm: 25 })
    const after = await sluice('log --top 2')
    expect(after).toMatch(/Z bob: takes a change back\n/)
    expect(after).toMatch(/Z ann: launch; taken back\n/)
    await sluice('undo --yes')
    expect(await limits()).toMatchObject({ rpm: 20 })
    expect(await sluice('undo --yes')).toBe('There is no change to take back.')
  })

  it('are not applied over a change that nobody has seen', async () => {
    const first = JSON.parse(await sluice('apply --json')) as { version: string; made: boolean }
    expect(first).toMatchObject({ version: '', made: false })
    await sluice('set rpm limit=7 --yes')
    const { err, exitCode } = await app.sluice(['apply', '--yes', '--if-version', 'none'])
    expect({ err, exitCode }).toEqual({
      err: 'sluice: somebody has changed the settings since that version. Look again: sluice log, and the same without --yes',
      exitCode: 1,
    })
    const failed = await app.sluice(['apply', '--yes', '--if-version', 'none', '--json'])
    expect(JSON.parse(failed.out)).toMatchObject({ error: { code: 'store_conflict' } })
    expect(await limits()).toMatchObject({ rpm: 7 })
  })

  it('are taken back for the version that somebody has seen, so that two undo one change', async () => {
    await sluice('set rpm limit=7 --yes')
    await sluice('set rpm limit=9 --yes')
    const { version } = JSON.parse(await sluice('undo --json')) as { version: string }
    const args = ['undo', '--yes', '--if-version', version]
    const both = await Promise.all([app.sluice(args), app.sluice(args)])
    expect(both.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1)
    expect(both.map(({ err }) => err).join('')).toMatch(/store_conflict|since that version/)
    expect(await limits()).toMatchObject({ rpm: 7 })
  })

  it('are not taken back where nobody would read them', async () => {
    await sluice('set rpm limit=7 --yes')
    await sluice('set rpm limit=null --yes')
    const file = limitsFile(prefix)
    app.write('src/limits.ts', file.replace("rpm: ['limit', 'mode']", "rpm: ['mode']"))
    const narrow = await app.sluice(['undo', '--yes'])
    expect([narrow.exitCode, narrow.err]).toEqual([1, expect.stringMatching(/rpm.*limit/)])
    app.write(
      'src/limits.ts',
      file.replaceAll("name: 'rpm'", "name: 'per_minute'").replace('rpm: [', 'per_minute: ['),
    )
    const { out, err, exitCode } = await app.sluice(['undo', '--yes'])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain(
      'rpm: is no policy of this limiter any more: its settings cannot be taken back',
    )
    app.write('src/limits.ts', file)
    await sluice('undo --yes')
    expect(await limits()).toMatchObject({ rpm: 7 })
  })

  it('leave a raise until its end', async () => {
    await sluice('raise rpm 120 --until 24h --yes')
    expect(await sluice('apply --yes')).toMatch(
      /^rpm \(everyone\): limit as in the code -> 30, from \d{4}-\S+ \S+ on: until then a change until a time applies$/m,
    )
    expect(await limits()).toMatchObject({ rpm: 120 })
    expect(await sluice('log')).toMatch(/^ {2}rpm \(everyone\): limit 120 until \d{4}-\S+ \S+$/m)
    await sluice('raise rpm 90 --until 24h --yes')
    expect(await sluice('log --top 1')).toMatch(
      /^ {2}rpm \(everyone\): limit 120 until \S+ \S+ -> limit 90 until \S+ \S+$/m,
    )
    await sluice('set rpm until=null --yes')
    expect(await sluice('log --top 1')).toMatch(
      /^ {2}rpm \(everyone\): limit 90 until \S+ \S+ is ended$/m,
    )
  })

  it.each([
    ['', 'src/limits.ts exports no list "configuration", such as: export const configuration = ['],
    [
      "export const configuration = [{ policy: 'daily', settings: { limit: 5 } }]",
      'does not allow to change daily',
    ],
    [
      "export const configuration = [{ policy: 'rpm', settings: { limit: -5 } }]",
      'rpm.limit: must be a whole number',
    ],
    [
      "export const configuration = [{ policy: 'rpm', settings: {} }, { policy: 'budget', subject: { user: 'u' }, settings: { limit: 5 } }]",
      'configuration[1].subject: must name "tenant", which "budget" counts by',
    ],
  ])('are refused: %s', async (text, says) => {
    app.write('src/limits.ts', limitsFile(prefix) + text)
    for (const args of [['apply'], ['apply', '--yes']]) {
      const { err, exitCode } = await app.sluice(args)
      expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
    }
  })

  it.each([
    [['--by', ''], '--by must be a text of 1 to 100 characters'],
    [['--note', 'x'.repeat(501)], '--note must be a text of 1 to 500 characters'],
  ])('are refused with %s', async (author, says) => {
    for (const args of [['set', 'rpm', 'limit=5'], ['apply'], ['undo']]) {
      await sluice('set rpm limit=6 --yes')
      const { err, exitCode } = await app.sluice([...args, '--yes', ...author])
      expect([exitCode, err]).toEqual([1, expect.stringContaining(says)])
    }
  })

  it('are shown with their unit', async () => {
    await sluice('apply --yes')
    expect(await sluice('show')).toContain('budget (tenant=acme): limit=$80.00')
    expect(await sluice('reset --tenant acme --routes chat --settings')).toContain('limit=$80.00')
  })

  it('need no history to be listed', async () => {
    expect(await sluice('log')).toBe('Nothing has been changed.')
    expect((await app.sluice(['log', '--top', '0'])).err).toContain(
      '--top 0 must be a number from 1',
    )
  })
})
