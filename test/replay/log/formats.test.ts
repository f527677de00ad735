import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { LogOptions } from '@sluice/replay'
import { parseLog, type Call } from '@sluice/replay/parse'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { readCalls } from '../support.ts'

const AT = Date.UTC(2026, 2, 1, 12, 0, 0)

/** The calls that each log has, in another format. */
const CALLS = Array.from({ length: 40 }, (_, index) => ({
  at: AT + index * 1_000,
  ip: index % 3 === 0 ? '192.0.2.7' : '192.0.2.8',
  method: index % 2 === 0 ? 'POST' : 'GET',
  route: index % 2 === 0 ? '/api/ai' : '/x',
  status: index % 10 === 9 ? 429 : 200,
}))
type OneCall = (typeof CALLS)[number]

const iso = (at: number): string => new Date(at).toISOString()
const two = (value: number): string => String(value).padStart(2, '0')
const common = (at: number): string => {
  const date = new Date(at)
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  return `01/Mar/2026:${time} +0000`
}
const lines = (line: (call: OneCall) => string): string => CALLS.map(line).join('\n')
const attribute = (key: string, value: string | number): object => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
})

/** A span as the collector's file exporter writes it, with the client span and the database's beside it. */
function batch(calls: readonly OneCall[]): string {
  const spans = calls.flatMap(({ at, ip, method, route, status }) => [
    {
      kind: 2,
      startTimeUnixNano: `${at}000000`,
      attributes: [
        attribute('tenant.id', ip),
        attribute('ip', ip),
        attribute('http.request.method', method),
        attribute('url.path', route),
        attribute('http.response.status_code', status),
      ],
    },
    { kind: 3, startTimeUnixNano: `${at}000001`, attributes: [attribute('tenant.id', ip)] },
  ])
  const resource = { attributes: [attribute('service.name', 'api')] }
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
}

const vercel = (call: OneCall, index: number): object[] => {
  const { at, ip, method, route, status } = call
  const proxy = { timestamp: at, method, path: `${route}?q={"[`, statusCode: status, clientIp: ip }
  const entry = { id: `${index}`, requestId: `iad1::${index}`, timestamp: at, source: 'lambda' }
  // A request has a line for each thing that it logs, and a build has lines of its own.
  const printed = { ...entry, id: `${index}-2`, proxy, message: 'asked the "model" {' }
  return [{ ...entry, proxy }, printed, { id: `b${index}`, timestamp: at, source: 'build' }]
}

const pino = ({ at, ip, method, route, status }: OneCall): string =>
  [
    { level: 30, time: at, msg: 'connected' },
    {
      level: 30,
      // When it was answered.
      time: at + 3,
      req: { id: 1, method, url: `${route}?stream=1`, remoteAddress: ip },
      res: { statusCode: status },
      responseTime: 3,
      msg: 'request completed',
    },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n')

const LOGS: Readonly<Record<string, { text: string; format: string; options?: LogOptions }>> = {
  CSV: {
    format: 'csv',
    text: `time,tenant,ip,method,route,status\n${lines(
      ({ at, ip, method, route, status }) => `${iso(at)},${ip},${ip},${method},${route},${status}`,
    )}`,
  },
  'CSV, seconds from the start': {
    format: 'csv',
    options: { start: iso(AT) },
    text: `time,tenant,ip,method,route,status\n${lines(
      ({ at, ip, method, route, status }) =>
        `${(at - AT) / 1_000}.0,${ip},${ip},${method},${route},${status}`,
    )}`,
  },
  'JSON lines': {
    format: 'jsonl',
    text: lines(({ at, ...call }) => JSON.stringify({ time: at, tenant: call.ip, ...call })),
  },
  pino: { format: 'jsonl', text: lines(pino) },
  Vercel: { format: 'json', text: JSON.stringify(CALLS.flatMap(vercel)) },
  'Vercel, in lines that people read': {
    format: 'json',
    text: JSON.stringify(CALLS.flatMap(vercel), undefined, 2),
  },
  'OpenTelemetry spans': {
    format: 'otlp',
    text: `${batch(CALLS.slice(0, 7))}\n${batch(CALLS.slice(7))}\n`,
  },
  'access log': {
    format: 'access',
    text: lines(
      ({ at, ip, method, route, status }) =>
        `${ip} - - [${common(at)}] "${method} ${route}?a=1 HTTP/1.1" ${status} 12`,
    ),
  },
  'AWS load balancer': {
    format: 'alb',
    text: lines(
      ({ at, ip, method, route, status }) =>
        `https ${iso(at + 900)} app/my-lb/50dc6c495c0c9188 ${ip}:2817 10.0.0.1:80 0.086 0.048 0.037 ` +
        `${status} ${status} 0 57 "${method} https://app.example:443${route}?a=1 HTTP/1.1" "curl/8" ` +
        'ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:x "Root=1-58337364" ' +
        `"app.example" "-" 0 ${iso(at)} "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
    ),
  },
}

describe.each(Object.entries(LOGS))('a log in the format %s', (_, { text, format, options }) => {
  const expected = CALLS.map(({ at, ip, route, status }) => ({
    at,
    subject: { tenant: ip, ip, route },
    status,
  }))

  it('has the calls that every other has', async () => {
    const { calls, log } = await readCalls(text, options)
    expect(log.format).toBe(format)
    expect(calls.map(({ at, subject, status }) => ({ at, subject, status }))).toEqual(expected)
    expect(log.facts.malformed.count).toBe(0)
  })

  it('has them zipped, too', async () => {
    const { calls } = await readCalls(gzipSync(text), { ...options, name: 'log.gz' })
    expect(calls).toHaveLength(CALLS.length)
  })

  it('has them after blank lines, as a file and as a text', async () => {
    const late = `\n\r\n\n${text}`
    const { calls } = await readCalls(late, options)
    const parsed: Call[] = []
    for await (const call of (await parseLog(late, options)).calls()) parsed.push(call)
    expect(parsed).toEqual(calls)
    expect(calls.map(({ at }) => at)).toEqual(expected.map(({ at }) => at))
  })

  it('counts what is no call', async () => {
    const { log } = await readCalls(`${text}\nno line of this format\n`, options)
    const { malformed, others } = log.facts
    expect(malformed.count).toBe(format === 'json' ? 0 : 1)
    const more = { pino: 40, Vercel: 80, 'Vercel, in lines that people read': 80 }
    expect(others).toBe((more as Record<string, number>)[_] ?? 0)
  })
})

it('spans of model calls are read if there are any, with their model and tokens', async () => {
  const span = (kind: number, names: Record<string, string | number>): object => ({
    kind,
    startTimeUnixNano: `${AT}000000`,
    attributes: Object.entries(names).map(([key, value]) => attribute(key, value)),
  })
  const spans = [
    span(2, { 'tenant.id': 'acme', 'url.path': '/api/chat' }),
    span(3, {
      'tenant.id': 'acme',
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
    }),
  ]
  const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
  const { calls } = await readCalls(text)
  expect(calls).toMatchObject([
    {
      at: AT,
      subject: { tenant: 'acme', model: 'gpt-4o' },
      units: { input_token: 120, output_token: 30, token: 150 },
    },
  ])
})

it('a batch of spans may be longer than any other line', async () => {
  const many = Array.from({ length: 6_000 }, (_, index) => CALLS[index % 40] as OneCall)
  const text = batch(many)
  expect(text.length).toBeGreaterThan(1_500_000)
  expect((await readCalls(text)).calls).toHaveLength(6_000)
})

it('an array may hold what looks like its end, and is malformed where it is cut off', async () => {
  const call = { time: AT, tenant: 'a]},{"', note: 'x\\"]', nested: [{ deep: [1] }] }
  const text = JSON.stringify([call, 5, call])
  const { calls, log } = await readCalls(text.slice(0, -5))
  expect(calls.map(({ subject }) => subject.tenant)).toEqual(['a]},{"'])
  expect(log.facts.malformed.first).toEqual([
    { line: 1, reason: 'the array ends within an object' },
  ])
})

it('seconds from a start need that start', async () => {
  const { log, calls } = await readCalls('time,tenant\n0.5,acme\n')
  expect(calls).toEqual([])
  expect(log.facts.malformed.first[0]?.reason).toBe(
    '"time" is not a time; if it counts seconds, set "start"',
  )
  await expect(readCalls('time,tenant\n0,a\n', { start: 'noon' })).rejects.toThrow(
    'must be a time such as 2026-11-02T00:00:00Z',
  )
})

it('what is neither is refused by name', async () => {
  await expect(readCalls('a "b" c\n1\n')).rejects.toThrow(
    /log: has no line of column names. .*set "format"/,
  )
})

it('the page lists each format', () => {
  const page = readFileSync(new URL('../../../docs/replay.md', import.meta.url), 'utf8')
  const listed = [...tableOf(page, 'log').values()].map((row) =>
    row['`--format`']?.replaceAll('`', ''),
  )
  expect(new Set(listed)).toEqual(new Set(Object.values(LOGS).map(({ format }) => format)))
})
