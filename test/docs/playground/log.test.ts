import { policySet, replay } from '@sluice/replay'
import { parseLog } from '@sluice/replay/parse'
import type { Policy } from '@sluice/core'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { evaluate } from '../../../apps/site/playground/engine/expression.ts'
import { MAX_LOG_BYTES, readLogFile } from '../../../apps/site/playground/engine/log-file.ts'
import { partsOf } from '../../../apps/site/playground/engine/log-parts.ts'
import { logTraffic } from '../../../apps/site/playground/engine/log-traffic.ts'
import { planOf } from '../../../apps/site/playground/engine/program.ts'
import {
  policyForm,
  trafficForm,
  useForm,
  type Filled,
} from '../../../apps/site/playground/engine/scenario.ts'
import type { PolicyName } from '../../../apps/site/playground/engine/policies.ts'
import { prepare, simulate } from '../../../apps/site/playground/engine/simulate.ts'

const START = Date.UTC(2026, 1, 3) / 1_000
const rows = (count: number, row: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${row(index)}\n`).join('')

const COSTS = `time,tenant,cost,tokens\n${rows(
  600,
  (index) => `${START + index},t${index % 30},0.0${index % 10},${(index * 7) % 900}`,
)}`
/** More tenants than a memory keeps unless it is told to. */
const MANY = `time,tenant\n${rows(24_000, (index) => `${START + index},t${index % 12_000}`)}`
const PRICED = `time,tenant,model,input,output\n${rows(
  300,
  (index) =>
    `${START + index},t${index % 3},${index % 9 ? 'gpt-5' : 'none'},${index * 90},${index}`,
)}`

describe('a log is charged as a replay charges it', () => {
  it.each<[string, readonly Filled<PolicyName>[], string]>([
    ['a budget a month', [policyForm('budget', { daily: '', monthly: '0.6' })], COSTS],
    ['tokens', [policyForm('window', { unit: 'token', limit: '900' })], COSTS],
    [
      'requests and a budget',
      [policyForm('budget', { daily: '0.3' }), policyForm('daily', { limit: '9' })],
      COSTS,
    ],
    [
      'a bucket of tokens',
      [policyForm('bucket', { unit: 'token', limit: '500', burst: '900' })],
      COSTS,
    ],
    ['many tenants', [policyForm('daily', { limit: '1' })], MANY],
    ['list prices', [policyForm('budget', { daily: '0.9' })], PRICED],
  ])('%s', async (_, policies, log) => {
    const scenario = { policies, traffic: trafficForm('log', { log }), use: useForm(), seed: '1' }
    const { steps } = await simulate(await prepare(scenario))
    const plan = await planOf(scenario)
    const set = policySet('page', { policies: plan.policies.map((one) => evaluate(one) as Policy) })
    const denied: string[] = []
    await replay((await parseLog(log)).calls(), [set], {
      onDenied: ({ call, decision }) =>
        denied.push(`${call.at - START * 1_000} ${call.subject.tenant} ${decision.violated?.name}`),
    })
    expect(denied.length).toBeGreaterThan(5)
    expect(denied.length).toBeLessThan(steps.length)
    expect(
      steps.flatMap(({ at, tenant, allowed, policy }) =>
        allowed ? [] : [`${at} ${tenant} ${policy}`],
      ),
    ).toEqual(denied)
  })
})

it('the calls of a log without a price are counted as a replay counts them', async () => {
  const { log } = await replay((await parseLog(PRICED)).calls(), [])
  expect(log.unpriced).toBeGreaterThan(30)
  const traffic = trafficForm('log', { log: PRICED })
  const unpricedBy = async (kind: PolicyName): Promise<number | undefined> => {
    const scenario = { policies: [policyForm(kind)], traffic, use: useForm(), seed: '1' }
    return (await prepare(scenario)).traffic.unpriced
  }
  expect(await unpricedBy('budget')).toBe(log.unpriced)
  expect(await unpricedBy('daily')).toBe(0)
})

it('a log is read in parts, with the lines of the whole', async () => {
  const quoted = `\n\ntime,tenant,note\n${rows(9_000, (index) => `${START - index},t,"a\nb ""${index}"`)}`
  const parts = [...partsOf(quoted)]
  expect(parts.length).toBeGreaterThan(5)
  expect(parts.every(({ text }) => text.length < quoted.length / 3)).toBe(true)
  let pauses = 0
  const pause = async (): Promise<void> => void (pauses += 1)
  const { arrivals, startMs } = await logTraffic(quoted, 9_000, pause)
  expect(startMs).toBe((START - 8_999) * 1_000)
  expect(arrivals.map(({ at }) => at)).toEqual(arrivals.map((_, index) => index * 1_000))
  expect(pauses).toBeGreaterThan(20)
  const broken = `${quoted}noon,t,"x"\n`
  const line = broken.split('\n').length - 1
  await expect(logTraffic(broken, 9_999)).rejects.toThrow(`line ${line}: "time" is not a time`)
  const short = `${quoted}1\n`
  await expect(logTraffic(short, 9_999)).rejects.toThrow(
    `log: line ${line}: Invalid Record Length: columns length is 3, got 1`,
  )
})

it('a log in parts may have any order, and another is told that it has none', async () => {
  const json = rows(20_001, (index) => `{"time":${START - index},"tenant":"t"}`)
  await expect(logTraffic(json, 30_000)).rejects.toThrow(
    /^log: must be sorted by time, unless it is CSV: line 20,001 is earlier than a call [^:]*$/,
  )
  const csv = `time,tenant\n${rows(20_001, (index) => `${START - index},t`)}`
  expect((await logTraffic(csv, 30_000)).arrivals).toHaveLength(20_001)
})

it('a log has a bound', async () => {
  await expect(logTraffic('time,tenant\n1767600000,t\n1767600000,t\n', 1)).rejects.toThrow(
    'at most 1 requests',
  )
  await expect(logTraffic('x'.repeat(MAX_LOG_BYTES + 1), 1)).rejects.toThrow('at most 10 MB')
})

describe('the file of a log', () => {
  const log = 'time,tenant\n1,é\n'
  it.each<[string, BlobPart]>([
    ['a text', log],
    ['one with a mark of its encoding', `\uFEFF${log}`],
    ['a zipped one', new Uint8Array(gzipSync(log))],
  ])('is %s', async (_, part) => {
    expect(await readLogFile(new Blob([part]))).toBe(log)
  })

  it.each<[string, BlobPart, string]>([
    ['a picture', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff), 'must be a text in UTF-8'],
    ['Latin-1', Uint8Array.of(0x4d, 0xfc, 0x6c), 'must be a text in UTF-8'],
    ['zeros', new Uint8Array(9), 'must be a text in UTF-8'],
    ['half of a zipped one', new Uint8Array(gzipSync(log).subarray(0, 15)), 'this .gz is broken'],
    ['too large', new Uint8Array(MAX_LOG_BYTES + 1), 'must be at most 10 MB'],
    [
      'too large, unzipped',
      new Uint8Array(gzipSync(Buffer.alloc(MAX_LOG_BYTES + 1))),
      'at most 10 MB',
    ],
  ])('is not %s', async (_, part, message) => {
    await expect(readLogFile(new Blob([part]))).rejects.toMatchObject({
      path: 'traffic.log',
      message: expect.stringContaining(message) as string,
    })
  })
})
