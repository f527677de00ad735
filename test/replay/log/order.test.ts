/* Logs that are not sorted, what a report leaves out of a log, and the names of columns. */
import { usageCsv, type UsageRow } from '@sluice/usage/report'
import { afterAll, describe, expect, it } from 'vitest'
import { project, removeProjects, type Project } from '../../cli/project.ts'
import { readCalls } from '../support.ts'

const AT = Date.UTC(2026, 2, 1, 12, 0, 0)
const CALLS = 4_000
const LIMIT = 1_000

afterAll(removeProjects)

const limitsOf = (limit: number, unit = 'request'): string => `
import { createLimiter, dailyCap } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
export const limiter = createLimiter({
  store: memory(),
  policies: [dailyCap({ name: 'daily', limit: ${limit}, unit: '${unit}', per: ['tenant'] })],
  extensions: [runtimeConfiguration({ allow: { daily: ['limit'] } })],
})
export const configuration = [{ policy: 'daily', settings: { limit: ${LIMIT} } }]
`

const seconds = Array.from({ length: CALLS }, (_, second) => second)
/** Orders of the same calls. 1,009 is a prime, so its steps reach each of them. */
const ORDERS: Readonly<Record<string, readonly number[]>> = {
  sorted: seconds,
  reversed: seconds.toReversed(),
  'sorted by tenant': [...seconds.filter((at) => at % 2 === 0), ...seconds.filter((at) => at % 2)],
  'without any order': seconds.map((at) => (at * 1_009) % CALLS),
  'with its last call first': [CALLS - 1, ...seconds.slice(0, -1)],
}

const linesOf = (order: readonly number[]): string[] =>
  order.map((second) => `${AT / 1_000 + second},t${second % 2}`)
const textOf = (order: readonly number[]): string => ['time,tenant', ...linesOf(order)].join('\n')
const secondsOf = (calls: readonly { at: number }[]): number[] =>
  calls.map(({ at }) => (at - AT) / 1_000)

describe.each(Object.entries(ORDERS))('a log that is %s', (_, order) => {
  it('is read in the order of its times', async () => {
    expect(secondsOf((await readCalls(textOf(order))).calls)).toEqual(seconds)
  })

  it('has the same report as a sorted one', async () => {
    const app = project({
      'limits.mjs': limitsOf(10_000),
      'stricter.mjs': limitsOf(LIMIT),
      'sorted.csv': textOf(seconds),
      'log.csv': textOf(order),
    })
    const said = async (...args: string[]) => {
      const { out, exitCode } = await app.sluice(args)
      expect(exitCode).toBe(0)
      return out
    }
    for (const line of [
      ['preview', 'LOG'],
      ['preview', 'LOG', '--json'],
      ['preview', 'LOG', '--comment'],
      ['replay', 'LOG', '--limits', 'stricter.mjs'],
    ]) {
      const [sorted, own] = ['sorted.csv', 'log.csv'].map((log) =>
        said(...line.map((part) => (part === 'LOG' ? log : part))),
      )
      expect({ line, out: await own }).toEqual({ line, out: await sorted })
      expect(await own).toMatch(/\b2,?000\b/)
      expect(await own).not.toMatch(/left out/i)
    }
  })
})

const run = async (command: string, app: Project, ...more: string[]) =>
  app.sluice([command, 'log.csv', '--reorder-calls', '100', ...more])

describe('a log longer than the calls held back', () => {
  it.each(['reversed', 'sorted by tenant', 'without any order'])(
    'is refused with the line if it is %s',
    async (name) => {
      const text = textOf(ORDERS[name] ?? [])
      await expect(readCalls(text, { reorderCalls: 100 })).rejects.toThrow(
        /reorderCalls: must be more than 100, or the log sorted by time: line [\d,]+ is earlier than/,
      )
    },
  )

  it.each(['sorted', 'with its last call first'])('is read if it is %s', async (name) => {
    const { calls } = await readCalls(textOf(ORDERS[name] ?? []), { reorderCalls: 100 })
    expect(secondsOf(calls)).toEqual(seconds)
  })

  it.each(['preview', 'replay'])('makes sluice %s fail if it is not sorted', async (command) => {
    const app = project({
      'limits.mjs': limitsOf(10_000),
      'log.csv': textOf(ORDERS['reversed'] ?? []),
    })
    expect(await run(command, app)).toMatchObject({
      exitCode: 1,
      out: '',
      err: expect.stringContaining(
        'sluice: --reorder-calls must be more than 100, or the log sorted by time: line 202 is earlier',
      ),
    })
    expect(JSON.parse((await run(command, app, '--json')).out)).toMatchObject({
      error: { code: 'invalid_command' },
    })
  })

  it('is read again by the command, with more of them, unless their number was given', async () => {
    const reversed = Array.from({ length: 25_000 }, (_, index) => 25_000 - index)
    const app = project({ 'limits.mjs': limitsOf(100_000), 'log.csv': textOf(reversed) })
    await expect(readCalls(textOf(reversed))).rejects.toThrow('must be more than 10,000')
    const { out, exitCode } = await app.sluice(['replay', 'log.csv', '--json'])
    expect(exitCode).toBe(0)
    const { log, leftOut } = JSON.parse(out) as { log: object; leftOut?: string }
    expect({ log, leftOut }).toMatchObject({ log: { used: { calls: 25_000 } }, leftOut: undefined })
  })

  it('keeps the order of the log where times are equal', async () => {
    const same = seconds.map((at) => Math.floor(at / 500))
    const { calls } = await readCalls(textOf(same), { reorderCalls: 300 })
    expect(calls.map(({ line }) => line)).toEqual(seconds.map((at) => at + 2))
  })
})

const rowOf = (hour: number, tenant: string): UsageRow => ({
  start: AT + hour * 3_600_000,
  tenant,
  route: '',
  model: '',
  plan: '',
  outcome: 'allowed',
  requests: 6,
  tokens: 6,
  usd: 6,
})

describe('a usage export without any order', () => {
  it('is read as a sorted one, also where rows overlap', async () => {
    const rows = Array.from({ length: 48 }, (_, hour) => [
      rowOf(hour, 'a'),
      rowOf(hour, 'b'),
    ]).flat()
    const mixed = rows.map((_, at) => rows[(at * 37) % rows.length] as UsageRow)
    for (const usagePeriod of ['1h', '1d'] as const) {
      const read = async (given: readonly UsageRow[]) =>
        (await readCalls(usageCsv(given), { usagePeriod })).calls.map(({ at }) => at)
      const times = await read(mixed)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times).toEqual(await read(rows))
      expect(times).toHaveLength(rows.length * 6)
    }
  })
})

const MIXED = [
  'time,tenant,route,status',
  `${AT / 1_000},acme,/api,200`,
  `${AT / 1_000},acme,/api,401`,
  `${AT / 1_000},acme,/other,200`,
  'yesterday,acme,/api,200',
].join('\n')
const LEFT_OUT =
  'Left out of the log: 1 malformed line, 1 call with a status to ignore, 1 call without a route that matches.'
const OPTIONS = ['--ignore-status', '401', '--routes', '/api=ai']

const mixedApp = (): Project => project({ 'limits.mjs': limitsOf(10_000), 'log.csv': MIXED })

describe('the first line of a report', () => {
  it.each(['preview', 'replay'])('says what sluice %s has left out of the log', async (command) => {
    const { out, exitCode } = await mixedApp().sluice([command, 'log.csv', ...OPTIONS])
    expect(exitCode).toBe(0)
    expect(out.split('\n')[0]).toBe(LEFT_OUT)
    expect(out).toContain('line 5: "time" is not a time')
  })

  it.each(['preview', 'replay'])('is in the JSON of sluice %s', async (command) => {
    const { out } = await mixedApp().sluice([command, 'log.csv', ...OPTIONS, '--json'])
    expect(Object.entries(JSON.parse(out) as object)[0]).toEqual(['leftOut', LEFT_OUT])
  })

  it('follows the heading of a comment', async () => {
    const { out } = await mixedApp().sluice(['preview', 'log.csv', ...OPTIONS, '--comment'])
    expect(out.split('\n').slice(0, 3)).toEqual([
      '### What these limits would have done',
      '',
      `**${LEFT_OUT}**`,
    ])
  })
})

/** Names of columns that need no option: those of the units, of other tools, and of exports of ours. */
const NAMES: readonly (readonly [unit: string, names: readonly string[]])[] = [
  ['usd', ['cost', 'usd', 'USD', 'cost_usd', 'total_cost', 'response_cost', 'usage.cost']],
  ['token', ['tokens', 'token', 'total_tokens', 'usage.total_tokens']],
  ['input_token', ['input', 'input_token', 'input_tokens', 'prompt_tokens']],
  ['output_token', ['output', 'output_token', 'output_tokens', 'completion_tokens']],
]

const readUnit = async (column: string, columns?: Readonly<Record<string, string>>) =>
  (await readCalls(`time,tenant,${column}\n${AT},acme,7\n`, columns && { columns })).calls[0]

describe('the column of a unit', () => {
  it.each(NAMES)('%s is known by the names %j', async (unit, names) => {
    for (const name of names) {
      expect({ name, units: (await readUnit(name))?.units }).toMatchObject({
        name,
        units: { [unit]: unit === 'usd' ? 7_000_000 : 7 },
      })
    }
  })

  it.each(NAMES)('%s is named as a policy names it, or by its field %j', async (unit, [field]) => {
    for (const name of [unit, field ?? '']) {
      const call = await readUnit('other', { [name]: 'other' })
      expect(call?.units).toMatchObject({ [unit]: unit === 'usd' ? 7_000_000 : 7 })
      expect(call?.subject).toEqual({ tenant: 'acme' })
    }
  })

  it('of your own may have such a name', async () => {
    expect((await readUnit('cost', { 'unit:credits': 'cost' }))?.units).toEqual({ credits: 7 })
  })

  it('is enough for a policy that counts dollars', async () => {
    const app = project({
      'limits.mjs': limitsOf(10_000, 'usd'),
      'log.csv': `time,tenant,usd\n${AT},acme,0.07\n`,
    })
    const { err, out, exitCode } = await app.sluice(['replay', 'log.csv'])
    expect({ err: err.replaceAll(/^replay: .*\n?/gm, ''), exitCode }).toEqual({
      err: '',
      exitCode: 0,
    })
    expect(out).toMatch(/^1 call, 1 tenant, \$0\.0700, /)
  })
})
