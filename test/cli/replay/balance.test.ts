import { describe, expect, it } from 'vitest'
import { folder, write } from '../../replay/support.ts'
import { runHere, type Ran } from '../run-here.ts'

const [CORE, CREDITS] = ['@sluice/core', '@sluice/core/credits'].map((entry) =>
  import.meta.resolve(entry),
)

/** Limits with policies of credits that count these units. */
const limits = (...units: readonly string[]): string =>
  write(
    'limits.ts',
    `import { slidingWindow } from '${CORE}'
import { credits } from '${CREDITS}'
export const policies = [
  slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'] }),
  ...${JSON.stringify(units)}.map((unit) => credits({ name: unit, ledger: unit, unit, per: ['tenant'], unsettled: 'keep' })),
]`,
  )

const LOG = ['acme', 'acme', 'beta'].map((tenant, at) => `${1_772_366_400 + at},${tenant},1.5,2`)
const log = (): string => write('log.csv', `time,tenant,cost,images\n${LOG.join('\n')}`)

const run = (file: string, ...args: readonly string[]): Promise<Ran> =>
  runHere(folder, ['replay', log(), '--limits', file, '--columns', 'unit:image=images', ...args])

describe('sluice replay --balance', () => {
  it.each([
    [
      '2',
      [
        ['acme', 2_000_000, 1, 500_000],
        ['beta', 2_000_000, 0, 500_000],
      ],
    ],
    [
      '$2',
      [
        ['acme', 2_000_000, 1, 500_000],
        ['beta', 2_000_000, 0, 500_000],
      ],
    ],
    [
      'acme=3',
      [
        ['beta', 0, 1, 0],
        ['acme', 3_000_000, 0, 0],
      ],
    ],
    [
      'acme=1.5,beta=1',
      [
        ['acme', 1_500_000, 1, 0],
        ['beta', 1_000_000, 1, 1_000_000],
      ],
    ],
  ])('begins balances of dollars with %s', async (text, expected) => {
    const { out } = await run(limits('usd'), '--balance', text, '--json')
    const { sets } = JSON.parse(out) as {
      sets: {
        credits: {
          balances: {
            subject: { tenant: string }
            opening: number
            refused: number
            left: number
          }[]
        }[]
      }[]
    }
    const balances = sets[0]?.credits[0]?.balances.map((one) => [
      one.subject.tenant,
      one.opening,
      one.refused,
      one.left,
    ])
    expect(balances).toEqual(expected)
  })

  it('prints when balances run out, in the units of the policy', async () => {
    const { out } = await run(limits('image'), '--balance', '3')
    expect(out).toContain('1 of 2 balances of "image" would have run out:')
    expect(out).toMatch(/^tenant=acme +3 +2 +1 +1 +2026-03-01 12:00:01$/m)
  })

  it('leaves credits out without it, and says how to have them', async () => {
    const { out } = await run(limits('usd'))
    expect(out).toMatch(/"usd" of \S+ is left out: .*a replay has it with an opening balance\./)
  })

  it('tells which of its tenants the log has no call of', async () => {
    const { out } = await run(limits('usd'), '--balance', 'acme=5,nobody=5,other=1')
    expect(out).toContain('Tenants of --balance that are not in the log: nobody, other.')
    const { out: known } = await run(limits('usd'), '--balance', 'acme=5')
    expect(known).not.toContain('not in the log')
  })

  it.each([
    [[], /the limits are credits alone: say what each balance begins with, such as --balance 50/],
    [['--balance', '5'], /^$/],
  ])('with credits alone and %j, says %s', async (args, message) => {
    const file = write(
      'alone.ts',
      `import { credits } from '${CREDITS}'
export const policies = [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })]`,
    )
    expect((await run(file, ...args)).err).toMatch(message)
  })

  it('names no option for limits of which none can be replayed', async () => {
    const file = write(
      'calls.ts',
      `import { concurrency } from '${CORE}'
export const policies = [concurrency({ name: 'calls', limit: 5, per: ['tenant'] })]`,
    )
    const { err } = await run(file)
    expect(err).toMatch(/the limits must have a policy that can be replayed \(calls: /)
    expect(err).not.toContain('--policies')
  })

  it.each([
    [['usd'], 'ten', /--balance ten must be an amount in dollars, such as 12\.50/],
    [['usd'], 'acme=', /--balance acme= must be an amount, or a list such as "acme=50,beta=20"/],
    [['usd'], 'acme=1,2', /must be an amount, or a list/],
    [['usd'], 'acme=50,beta=1,acme=60', /--balance acme=50,beta=1,acme=60 must name acme once/],
    [[], '5', /--balance is what balances of credits begin with, and the limits have none/],
    [['usd', 'image'], '5', /the limits count them in several units: usd, image/],
  ])('with limits that count %j, refuses %s', async (units, text, message) => {
    const { err, exitCode } = await run(limits(...units), '--balance', text)
    expect(err).toMatch(message)
    expect(exitCode).toBe(1)
  })
})
