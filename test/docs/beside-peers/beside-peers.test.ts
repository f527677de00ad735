import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { stillClock } from '../coming-from/page.ts'
import { PEERS, ROWS } from './rows.ts'

stillClock()

// Their texts about a store that is down.
beforeEach(() => void vi.spyOn(console, 'error').mockReturnValue())
afterEach(() => void vi.restoreAllMocks())

const read = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
/** The headings of the columns: a package beside its version as it is tested here. */
const HEADINGS = PEERS.map((name) => {
  const { version } = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }
  return `${name} ${version}`
})
const table = tableOf(read('README.md'), 'beside others')

describe('the table of other packages in the README', () => {
  it('has a probe for each cell', () => {
    expect([...table.keys()]).toEqual(Object.keys(ROWS))
    expect(Object.keys(table.values().next().value ?? {}).slice(1)).toEqual(['Sluice', ...HEADINGS])
  })

  it.each(Object.entries(ROWS))('tells the truth: %s', async (label, probes) => {
    const cells: string[] = []
    // One after the other: each moves the clock.
    for (const probe of probes) cells.push(await probe())
    const { Sluice, ...others } = table.get(label) ?? {}
    expect(cells).toEqual([Sluice, ...HEADINGS.map((heading) => others[heading])])
  })
})
