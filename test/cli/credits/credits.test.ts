import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reserve } from '@sluice/core/reservations'
import { afterAll, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { creditsFile, creditsProject, type CreditsProject } from './credits-project.ts'
import { jsonOf } from '../operator.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const ACME = ['--tenant', 'acme']
const GRANT = ['grant', '50', '--id', 'payment-17', '--kind', 'paid', ...ACME]

/** Runs an action, and returns what it prints. */
const run =
  ({ app }: { app: Project }) =>
  async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await app.sluice(['credits', ...args])
    return out + err
  }

/** Spends on a call. */
async function spend({ running }: CreditsProject, usd: number): Promise<void> {
  const call = await reserve(running, { tenant: 'acme', route: 'chat' }, { cost: { usd } })
  if (call.allowed) await call.settle({ usd })
}

/** The cells of a table, a line each. */
const cellsOf = (text: string): string[] =>
  text.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '))

it('a change is shown first, made with --yes, and counts once', async () => {
  const own = creditsProject(redis.local)
  const credits = run(own)
  expect(await credits(...GRANT)).toBe(
    'tenant=acme would be granted $50.00 (paid), as payment-17.\nNothing is changed. Add --yes to change it.',
  )
  expect(await credits('journal', ...ACME)).toBe('No entry.')
  expect(await credits(...GRANT, '--reason', 'Top-up', '--yes')).toBe(
    'tenant=acme: $50.00 granted. $50.00 is available.',
  )
  expect(await credits(...GRANT, '--yes')).toBe(
    'tenant=acme: $50.00 was granted before, and nothing is changed. $50.00 is available.',
  )
  const adjust = ['adjust', '--id', 'case-1', '--reason', 'Counted twice', ...ACME, '--yes']
  expect(await credits(...adjust, '--take', '2.50')).toBe(
    'tenant=acme: $2.50 taken. $47.50 is available.',
  )
  expect(await credits('revoke', 'payment-17', '--debt', ...ACME, '--yes')).toBe(
    'tenant=acme: $50.00 taken back. $0.00 is available, $2.50 is owed.',
  )
})

it('a balance lists its lots and reservations, of which one that is abandoned is settled', async () => {
  const own = creditsProject(redis.local)
  const credits = run(own)
  const gift = ['grant', '$5', '--id', 'gift', '--kind', 'promotional', '--expires', '2099-01-01']
  await credits(...GRANT, '--yes')
  await credits(...gift, ...ACME, '--yes')
  await reserve(own.running, { tenant: 'acme', route: 'chat' }, { cost: { usd: 750_000 } })
  const shown = cellsOf(await credits('balance', ...ACME))
  const id = /^(\S+) \| \$0\.75 \| until 2/.exec(shown.at(-1) ?? '')?.[1] ?? ''
  expect(shown.slice(0, -1)).toEqual([
    'tenant=acme',
    'available | held | abandoned | debt | balance',
    '$54.25 | $0.75 | $0.00 | $0.00 | $54.25',
    '',
    'lot | left | priority | from | expires',
    'promotional | $4.25 | 100 | 2099-01-01 00:00Z',
    'paid | $50.00 | 100',
    '',
    'reservation | holds',
  ])
  expect(await credits('settle', id, '0.25', ...ACME)).toContain('would be settled at $0.25')
  expect(await credits('settle', id, '0.25', ...ACME, '--yes')).toBe(
    'tenant=acme: $0.25 settled. $54.75 is available.',
  )
  expect(await credits('settle', id, '0.25', ...ACME, '--yes')).toContain(
    `tenant=acme has no open reservation ${id}`,
  )
  expect(jsonOf(await own.app.sluice(['credits', 'balance', ...ACME, '--json']))).toMatchObject({
    subject: { tenant: 'acme' },
    policy: 'credits',
    unit: 'usd',
    available: 54_750_000,
  })
})

it('the journal is a table, CSV that no spreadsheet runs, or JSON, from a time on', async () => {
  const own = creditsProject(redis.local)
  const credits = run(own)
  await credits(...GRANT, '--reason', '=1+1, "two"', '--yes')
  await spend(own, 1_234_567)
  await credits('adjust', '--add', '2', '--id', 'case', '--reason', 'Outage', ...ACME, '--yes')
  const [head, ...rows] = cellsOf(await credits('journal', ...ACME))
  expect(head).toBe('entry | time | kind | amount | sum | lot | id | reason')
  expect(rows.map((row) => row.replace(/\| 2.*?Z/, '| …'))).toEqual([
    '1 | … | granted | $50.00 | $50.00 | paid | payment-17 | =1+1, "two"',
    '2 | … | spent | -$1.234567 | $48.765433 | paid',
    '3 | … | adjusted | $2.00 | $50.765433 | paid | case | Outage',
  ])
  const csv = (await credits('journal', '--csv', ...ACME)).split('\r\n')
  expect(csv[0]).toBe(
    'entry,time,kind,amount,sum,unit,lot,priority,effective_at,expires_at,id,reason',
  )
  expect(csv[1]).toMatch(
    /^1,2.*Z,granted,50\.000000,50\.000000,usd,paid,100,,,payment-17,"'=1\+1, ""two"""$/,
  )
  expect(csv[2]).toMatch(/^2,2.*Z,spent,-1\.234567,48\.765433,usd,paid,100,,,,$/)
  const json = (...more: readonly string[]) =>
    own.app.sluice(['credits', 'journal', ...ACME, '--json', ...more]).then(jsonOf)
  expect(await json('--top', '1')).toMatchObject({ entries: [{ seq: 3, units: 2_000_000 }] })
  expect(await json('--after', '1', '--top', '9')).toMatchObject({
    entries: [{ seq: 2 }, { seq: 3 }],
  })
  expect(await json('--since', '2099-01-01')).toMatchObject({ entries: [] })
})

it('a balance is audited, kept in a file, deleted when its amount is repeated, and restored', async () => {
  const own = creditsProject(redis.local)
  const credits = run(own)
  const path = (file: string): string => join(own.app.folder, file)
  await credits(...GRANT, '--yes')
  await spend(own, 500_000)
  const fine =
    'tenant=acme\nNothing is wrong with entries 1 to 1: each follows the one before, and their sum is the balance.'
  expect(await credits('audit', ...ACME)).toBe(fine)
  expect(await credits('export', '--file', 'acme.json', ...ACME)).toBe(
    'The balance of tenant=acme is in acme.json.',
  )
  expect(await credits('export', ...ACME)).toMatch(/^\{\n "format": "sluice-credits-1"/)
  expect(await credits('export', '--file', 'acme.json', ...ACME)).toContain(
    'acme.json exists already',
  )
  expect(await credits('audit', '--file', 'acme.json', ...ACME)).toBe(fine)
  const text = readFileSync(path('acme.json'), 'utf8')
  own.app.write('changed.json', text.replace('granted 50000000 ', 'granted 60000000 '))
  const audited = await own.app.sluice(['credits', 'audit', '--file', 'changed.json', ...ACME])
  expect(audited.out).toContain('entry 1 is of 60000000 units, but the sum moves by 50000000')
  expect(audited.exitCode).toBe(1)

  const deletion = ['delete', '--file', 'gone.json', ...ACME]
  expect(await credits(...deletion)).toBe(
    'tenant=acme has $49.50, which would be deleted for good.\nNothing is changed. Add --yes to change it.',
  )
  const asked = await credits(...deletion, '--yes')
  expect(asked).toContain('--tenant acme --file gone.json --yes --confirm 49.50')
  expect(await credits(...deletion, '--yes', '--confirm', '49')).toContain('49 is not the balance')
  expect(existsSync(path('gone.json'))).toBe(false)
  const call = await reserve(own.running, { tenant: 'acme', route: 'chat' }, { cost: { usd: 10 } })
  expect(await credits(...deletion, '--yes', '--confirm', '49.499990')).toContain('balance_held')
  expect(existsSync(path('gone.json'))).toBe(false)
  if (call.allowed) await call.cancel()
  expect(await credits(...deletion, '--yes', '--confirm', '49.50')).toBe(
    'tenant=acme: $49.50 is deleted, with its journal. gone.json has both.',
  )
  expect(await credits('export', ...ACME)).toContain('balance_unknown')
  expect(await credits('import', 'changed.json', ...ACME, '--yes')).toContain('invalid_export')
  expect(await credits('import', 'gone.json', ...ACME)).toContain('up to entry 1 of its journal')
  expect(await credits('import', 'gone.json', ...ACME, '--yes')).toMatch(
    /^tenant=acme: the balance is as it was at 2.*Z, \d+m?s ago: \$49\.50 is available\. Grants/,
  )
  expect(await credits('import', 'gone.json', ...ACME, '--yes')).toContain('balance_exists')
})

it.each([
  [[], 'there is no such action of sluice credits; there are balance, grant'],
  [['give'], 'there is no action "give" of sluice credits'],
  [['balance'], '"credits" is a balance of each tenant: add --tenant NAME'],
  [['grant', ...ACME], 'sluice credits grant takes AMOUNT'],
  [['grant', '50', ...ACME], 'add --id payment-17'],
  [['grant', '50', '--id', 'p', ...ACME], 'add --kind paid'],
  [
    ['grant', '50', '--id', 'p', '--kind', 'free', ...ACME],
    '--kind free must be paid or promotional',
  ],
  [['grant', 'fifty', ...ACME], 'AMOUNT fifty must be an amount in dollars, such as 12.50'],
  [[...GRANT, '--expires', 'soon'], '--expires soon must be a date'],
  [[...GRANT, '--expires', '2026-02-30'], '--expires 2026-02-30 must be a date'],
  [[...GRANT, '--priority', 'high', '--yes'], 'priority: must be a whole number'],
  [[...GRANT, '--csv'], '--csv is not for sluice credits grant'],
  [[...GRANT, '--policy', 'other'], 'no policy of credits of this name, but credits'],
  [['adjust', '--id', 'a', '--reason', 'b', ...ACME], 'name one amount: --add 2 or --take 2'],
  [['adjust', '--add', '2', '--id', 'a', ...ACME], "add --reason 'Counted twice'"],
  [['settle', 'r1', ...ACME], 'sluice credits settle takes ID AMOUNT'],
  [['settle', 'r1', '0', ...ACME, '--yes'], 'has no open reservation r1'],
  [['revoke', 'p', ...ACME, '--yes'], 'is of no grant of the last 90 days'],
  [['import', 'none.json', ...ACME], 'there is no file none.json'],
  [['import', 'limits.ts', ...ACME], 'must be a text of exportCredits'],
  [['delete', ...ACME], 'add --file deleted.json'],
  [['journal', '--csv', '--json', ...ACME], 'two forms of the result'],
] as const)('sluice credits %j is refused, and says how it is called', async (args, text) => {
  const { app } = creditsProject(redis.local)
  const { err, exitCode } = await app.sluice(['credits', ...args])
  expect(err).toContain(text)
  expect(exitCode).toBe(1)
})

it('a limiter without credits, or with several, is told of', async () => {
  const file = creditsFile('unused')
  const line = /^ *credits\(.*$/m.exec(file)?.[0] ?? ''
  const limits = {
    'none.ts': file.replace(line, ''),
    'several.ts': file.replace(
      line,
      `${line}${line.replace("'credits'", "'gifts', ledger: 'gifts'")}`,
    ),
  }
  const app = project({ ...limits, '.env.local': envOf(redis.local) })
  const errorOf = async (name: string): Promise<string> =>
    (await app.sluice(['credits', 'balance', ...ACME, '--limits', name])).err
  expect(await errorOf('none.ts')).toContain('none.ts has no policy of credits')
  expect(await errorOf('several.ts')).toContain(
    'several policies of credits: credits, gifts. Name one: --policy credits',
  )
})

it('show says the balance in words, and no window', async () => {
  const own = creditsProject(redis.local)
  await run(own)(...GRANT, '--yes')
  await reserve(own.running, { tenant: 'acme', route: 'chat' }, { cost: { usd: 2_000_000 } })
  const { out, err } = await own.app.sluice(['show', ...ACME, '--route', 'chat'])
  expect(err).toBe('')
  expect(out).toContain('credits: $48.00 left, $2.00 held')
  expect(out).not.toMatch(/NaN|Infinity|\b0m?s\b/)
  expect((await own.app.sluice(['show'])).out).toMatch(/credits +balance +usd +none +tenant/)
})
