import { slidingWindow } from '@sluice/core'
import { openLog, policySet, renderText, replay, suggestLimits } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { write } from '../support.ts'

const START = Date.UTC(2026, 2, 1, 12)

const setOf = (limit: number): ReturnType<typeof policySet> =>
  policySet(`limits of ${limit}`, {
    policies: [slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })],
  })

const open = (lines: readonly string[]) =>
  openLog(write('log.csv', `time,tenant,input,output,model\n${lines.join('\n')}`))

it('the text of a replay has the totals, the smallest limits and the lines that were left out', async () => {
  const lines = Array.from(
    { length: 30 },
    (_, index) => `${START + index * 700},${index % 3 === 0 ? 'b' : 'a'},100,10,gpt-4o`,
  )
  const log = await open([...lines, '?'])
  const result = await replay(log.calls(), [setOf(3), setOf(5)])
  const { facts } = log
  const suggestion = await suggestLimits(() => log.calls(), setOf(3), { except: ['a'] })
  const text = renderText(result, facts, suggestion)
  expect(text).toMatch(/^ +limits of 3 +limits of 5$/m)
  expect(text).toMatch(/^rpm +- +request +3 +10 +b +2026-03-01 12:00:18$/m)
  expect(text).toContain('Malformed, the first: line 32: ')
  expect(text).not.toContain('shadow')
})

describe('policies in shadow', () => {
  it('have tables in the text', async () => {
    const next = { name: 'next', limit: 1, window: '1m', per: ['tenant'], mode: 'shadow' } as const
    const log = await open([0, 1, 2].map((at) => `${START + at * 1_000},acme,100,10,gpt-4o`))
    const result = await replay(log.calls(), [
      policySet('limits', { policies: [slidingWindow(next)] }),
    ])
    const text = renderText(result, log.facts)
    expect(text).toMatch(/^next +3 +2 +66\.7 % +220 +\$0\.0007$/m)
    expect(text).toMatch(/^acme +3 +2 +66\.7 % +220 +\$0\.0007$/m)
  })
})
