import { runInNewContext } from 'node:vm'
import { parseLog, type Call } from '@sluice/replay/parse'
import { expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'

const LOG =
  '\u{FEFF}time,tenant,cost\n2026-03-01T12:00:00Z,"a,b",0.5\nnoon,x,1\n,\n2026-03-01T12:00:01Z,é,2\n'

it('reads a log that is a text, with its malformed lines', async () => {
  const log = await parseLog(LOG)
  const calls: Call[] = []
  for await (const call of log.calls()) calls.push(call)
  expect(calls.map(({ line, subject, units }) => [line, subject.tenant, units['usd']])).toEqual([
    [2, 'a,b', 500_000],
    [5, 'é', 2_000_000],
  ])
  expect(log.facts.malformed.first).toEqual([
    { line: 3, reason: '"time" is not a time' },
    { line: 4, reason: 'Invalid Record Length: columns length is 3, got 2 on line 4' },
  ])
})

it('runs where there is no Node.js', async () => {
  const { text, inputs } = await bundle(`
    import { parseLog } from '@sluice/replay/parse'
    globalThis.read = async (text) => {
      let count = 0
      for await (const call of (await parseLog(text)).calls()) count += 1
      return count
    }
  `)
  expect(inputs.filter((path) => /csv-rows|open-log|bytes\.js$/.test(path))).toEqual([])
  const browser = { TextDecoder, TextEncoder, URL }
  runInNewContext(text.replace(/export\s*\{\s*\};?\s*$/, ''), browser)
  expect(await (browser as unknown as { read: (log: string) => Promise<number> }).read(LOG)).toBe(2)
})

it('refuses a text without lines, or without names of columns', async () => {
  await expect(parseLog(' \n')).rejects.toThrow('log: is empty')
  await expect(parseLog('a,b\n1,2\n')).rejects.toThrow('columns: must name the time')
})
