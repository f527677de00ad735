import { gzipSync } from 'node:zlib'
import { usageCsv } from '@sluice/usage/report'
import type { UsageRow } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { readCalls } from '../support.ts'

const AT = Date.UTC(2026, 2, 1, 12, 0, 0)
const TIME = '2026-03-01T12:00:00Z'
const NAMELESS = `time\n${`${TIME}\n`.repeat(20_000)}`

const assignedNames = async (seed: number): Promise<string[]> =>
  (await readCalls(NAMELESS, { tenants: 100, seed })).calls.map(({ subject }) => subject.tenant)

describe('a CSV log', () => {
  it('is read by the usual names of its columns', async () => {
    const { calls } = await readCalls(
      'timestamp,org_id,endpoint,prompt_tokens,completion_tokens,cost_usd,tier,status,model\n' +
        `${TIME},acme,evaluate,100,20,0.07,growth,200,gpt-4o\n`,
    )
    expect(calls).toEqual([
      {
        at: AT,
        line: 2,
        subject: { tenant: 'acme', route: 'evaluate', model: 'gpt-4o', plan: 'growth' },
        units: { input_token: 100, output_token: 20, token: 120, usd: 70_000 },
        status: 200,
      },
    ])
  })

  it('is read by the names that you give, also of dimensions and units of your own', async () => {
    const columns = { time: 'when', tenant: 'who', region: 'where', 'unit:image': 'pictures' }
    const text = `when;who;where;pictures\n${TIME};acme;eu;3\n`
    const { calls } = await readCalls(text, { columns, delimiter: ';' })
    expect(calls[0]?.subject).toEqual({ tenant: 'acme', region: 'eu' })
    expect(calls[0]?.units).toEqual({ image: 3 })
  })

  it('may have quotes, line breaks in quotes, CRLF, a byte order mark, and be zipped', async () => {
    const text = `\uFEFFtime,tenant,note\r\n${TIME},"a ""b"", c","two\r\nlines"\r\n${TIME},d,x`
    for (const [name, content] of [
      ['log.csv', text],
      ['log.csv.gz', gzipSync(text)],
    ] as const) {
      const { calls } = await readCalls(content, { name })
      expect(calls.map(({ subject }) => subject.tenant)).toEqual(['a "b", c', 'd'])
    }
  })

  it('counts lines that it cannot read, and shows the first with their numbers', async () => {
    const lines = [
      'time,tenant,tokens',
      `${TIME},acme,1`,
      'yesterday,acme,1',
      `${TIME},,1`,
      `${TIME},acme,many`,
      `${TIME},acme`,
      `${TIME},acme,1,2`,
      `${TIME},acme,-1`,
      '2026-02-30T12:00:00Z,acme,1',
      `${TIME},beta,2`,
    ]
    const { calls, log } = await readCalls(lines.join('\n'))
    expect(calls.map(({ line }) => line)).toEqual([2, 10])
    const { count, first } = log.facts.malformed
    expect(count).toBe(7)
    expect(first.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7])
    expect(first[0]?.reason).toBe('"time" is not a time')
    expect(first[2]?.reason).toMatch(/"tokens" must be a whole number/)
  })

  it('is read on behind a quote that never ends, which is one malformed line', async () => {
    const { calls, log } = await readCalls(
      `time,tenant\n${TIME},acme\n${TIME},"beta\n${`${TIME},x\n`.repeat(60_000)}`,
    )
    expect(calls[0]?.subject.tenant).toBe('acme')
    expect(log.facts.malformed.count).toBeGreaterThan(0)
  })
})

describe('a JSON log', () => {
  it('names nested values by their path', async () => {
    const call = { time: AT, tenant: 'acme', usage: { prompt_tokens: 5, completion_tokens: 7 } }
    const { calls, log } = await readCalls(`${JSON.stringify(call)}\n[1]\n{"time":\n`)
    expect(log.format).toBe('jsonl')
    expect(calls).toMatchObject([{ at: AT, units: { token: 12 } }])
    expect(log.facts.malformed.first).toEqual([
      { line: 2, reason: 'the line is not a JSON object' },
      { line: 3, reason: 'the line is not JSON' },
    ])
  })
})

describe('an access log', () => {
  it('is read in the common and the combined format', async () => {
    const { calls, log } = await readCalls(
      [
        '192.0.2.7 - - [01/Mar/2026:12:00:00 +0000] "POST /api/ai?stream=1 HTTP/1.1" 200 512',
        '192.0.2.8 - ann [01/Mar/2026:13:00:01 +0100] "GET /x HTTP/1.1" 429 - "-" "curl/8"',
        'no access line',
      ].join('\n'),
    )
    expect(log.format).toBe('access')
    expect(calls.map(({ at, subject, status }) => [at, subject, status])).toEqual([
      [AT, { tenant: '192.0.2.7', ip: '192.0.2.7', route: '/api/ai' }, 200],
      [AT + 1_000, { tenant: 'ann', user: 'ann', ip: '192.0.2.8', route: '/x' }, 429],
    ])
    expect(log.facts.malformed.count).toBe(1)
  })
})

describe('a usage export', () => {
  const rows: readonly UsageRow[] = [
    {
      start: AT,
      tenant: 'a',
      route: 'r',
      model: 'm',
      plan: 'p',
      outcome: 'allowed',
      requests: 4,
      tokens: 10,
      usd: 7,
    },
    {
      start: AT,
      tenant: 'b',
      route: '',
      model: '',
      plan: '',
      outcome: 'denied',
      requests: 1,
      tokens: 3,
      usd: 2,
    },
    {
      start: AT + 3_600_000,
      tenant: 'a',
      route: '',
      model: '',
      plan: '',
      outcome: 'allowed',
      requests: 1,
      tokens: 1,
      usd: 1,
    },
  ]
  const csv = usageCsv(rows)
  const json = rows.map((row) => JSON.stringify(row)).join('\n')

  it.each([csv, json])('has its requests spread evenly over each hour', async (text) => {
    const { calls } = await readCalls(text)
    const minutes = calls.map(({ at, subject }) => [(at - AT) / 60_000, subject.tenant])
    expect(minutes).toEqual([
      [7.5, 'a'],
      [22.5, 'a'],
      [30, 'b'],
      [37.5, 'a'],
      [52.5, 'a'],
      [90, 'a'],
    ])
    const units = calls.filter(({ subject }) => subject.route === 'r').map((call) => call.units)
    expect(units).toEqual([3, 3, 2, 2].map((token, index) => ({ token, usd: index < 3 ? 2 : 1 })))
  })

  it('may have a row for each day', async () => {
    const { calls } = await readCalls(csv, { usagePeriod: '1d' })
    expect(calls.map(({ at }) => (at - AT) / 3_600_000)).toContain(12)
  })
})

describe('times', () => {
  it.each([
    ['2026-03-01 12:00:00.0009999', 0],
    ['2026-03-01T13:00:00+01:00', 0],
    ['2026-03-01T12:00:00,250Z', 250],
    [String(AT / 1_000), 0],
    [`${AT / 1_000}.5`, 500],
    [String(AT), 0],
    [`${AT}000`, 0],
    [`${AT}000000`, 0],
  ])('reads %s', async (text, ms) => {
    const { calls } = await readCalls(`time;tenant\n${text};acme\n`, { delimiter: ';' })
    expect(calls.map(({ at }) => at - AT)).toEqual([ms])
  })
})

it('leaves out calls with a status that you name, and counts them', async () => {
  const text = `time,tenant,status\n${TIME},acme,401\n${TIME},acme,200\n`
  const { calls, log } = await readCalls(text, { ignoreStatus: [401] })
  expect([calls.length, log.facts.ignored]).toEqual([1, 1])
})

describe('a log that names no tenants', () => {
  it('gets some, of which 3 % make 61 % of the calls, the same with the same seed', async () => {
    const first = await assignedNames(1)
    const calls = new Map<string, number>()
    for (const name of first) calls.set(name, (calls.get(name) ?? 0) + 1)
    const heavy = [...calls.values()].toSorted((a, b) => b - a).slice(0, 3)
    expect(heavy.reduce((sum, some) => sum + some, 0) / first.length).toBeCloseTo(0.61, 2)
    expect(await assignedNames(1)).toEqual(first)
    expect(await assignedNames(2)).not.toEqual(first)
  })

  it('is an error without them', async () => {
    await expect(readCalls(NAMELESS)).rejects.toThrow(/columns: must name the tenant.*"tenants"/)
  })
})

it.each([
  [
    'time,tenant\n',
    { columns: { tenant: 'org' } },
    /columns: "tenant" is "org", but the log has these: "time", "tenant"/,
  ],
  [
    'when,tenant\n',
    {},
    /must name the time, such as "time=ts"; the log has these: "when", "tenant"/,
  ],
  ['sk-secret\n', {}, /; the log has no column with a usual name: is it a log\?/],
  ['', {}, /log: is empty/],
  [
    'time,tenant\n',
    { format: 'xml' as 'csv' },
    /format: must be one of "csv", "jsonl", "json", "otlp", "access", "alb"/,
  ],
  ['time,tenant\n', { reorderCalls: 0 }, /reorderCalls: must be a whole number from 1/],
  ['time,tenant\n', { usagePeriod: '1 hour' as '1h' }, /usagePeriod: must be a text such as/],
])('names the option at fault: %j with %j', async (text, options, message) => {
  await expect(readCalls(text, options)).rejects.toThrow(message)
})
