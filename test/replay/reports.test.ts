import { fixedWindow, slidingWindow } from '@sluice/core'
import { openLog, policySet, renderText, replay, suggestLimits } from '@sluice/replay'
import { renderHtml, shadowSection } from '@sluice/replay/html'
import type { ReportInput } from '@sluice/replay/html'
import { shadowReport, usage } from '@sluice/usage/report'
import { beforeAll, describe, expect, it } from 'vitest'
import { recording } from '../usage/support.ts'
import { write } from './support.ts'

const NASTY = '</svg><img src=x onerror=alert(1)>&"'

const setOf = (limit: number): ReturnType<typeof policySet> =>
  policySet(`limits of ${limit}`, {
    policies: [slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })],
  })

const headingsOf = (html: string): string[] =>
  Array.from(html.matchAll(/<h2>(.*?)<\/h2>/g), ([, text = '']) => text)

let input: ReportInput
let page: string

beforeAll(async () => {
  const start = Date.UTC(2026, 2, 1, 12)
  const lines = Array.from({ length: 30 }, (_, index) => {
    const tenant = index % 3 === 0 ? 'b' : `"${NASTY.replaceAll('"', '""')}"`
    return `${start + index * 700},${tenant},100,10,gpt-4o`
  })
  const log = await openLog(
    write('log.csv', `time,tenant,input,output,model\n${lines.join('\n')}\n?`),
  )
  const result = await replay(log.calls(), [setOf(3), setOf(5)])
  const { facts } = log
  const suggestion = await suggestLimits(() => log.calls(), setOf(3), { except: [NASTY] })
  const sections = [{ heading: 'My section', html: '<p>mine</p>' }]
  input = { title: 'log.csv', replay: result, facts, suggestion, sections }
  page = await renderHtml(input)
})

describe('the page of a replay', () => {
  it('loads nothing, and may load nothing', () => {
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    const addresses = page.match(/\b(?:https?:)?\/\/[^\s"'<)]+/g) ?? []
    expect(new Set(addresses)).toEqual(
      new Set(['http://www.w3.org/2000/svg', 'http://www.w3.org/1999/xlink']),
    )
    expect(page).not.toMatch(/<(?:script|link|img|iframe)\b|url\(/)
  })

  it('draws 0.6 % of denied calls high enough to be seen', async () => {
    const minutes = Array.from({ length: 30 }, (_, index) => Date.UTC(2026, 2, 1, 12, index))
    const tenants = Array.from({ length: 500 }, (_, index) => (index < 496 ? `t${index}` : 'many'))
    const lines = minutes.flatMap((at) => tenants.map((tenant, index) => `${at + index},${tenant}`))
    const log = await openLog(write('log.csv', `time,tenant\n${lines.join('\n')}`))
    const policies = [fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]
    const result = await replay(log.calls(), [policySet('one a minute', { policies })])
    expect(result.sets[0]?.denied.calls).toBe(90)
    const html = await renderHtml({ title: 'log.csv', replay: result, facts: log.facts })
    const [plot = ''] = html.match(/<figure>[\s\S]*?<\/figure>/) ?? []
    const bars = [...plot.matchAll(/<path[^>]*d="[^"]*?v(-?[\d.]+)h[^"]*"[^>]*fill="#bc4c00"/g)]
    const heights = bars.map(([, height]) => Math.abs(Number(height)))
    // On the axis of all calls they are flat; below it they have one of their own.
    expect(Math.min(...heights)).toBeLessThan(2)
    expect(Math.max(...heights)).toBeGreaterThan(40)
  })

  it('has a text beside each plot, and a table with its figures', () => {
    const plots = page.match(/<figure>[\s\S]*?<\/figure>/g) ?? []
    // Calls, tokens, dollars and tenants, of two sets.
    expect(plots).toHaveLength(8)
    for (const plot of plots) {
      expect(plot).toMatch(/<svg[^>]* role="img" aria-label="[^"]*\d[^"]*"/)
      expect(plot).toMatch(/<details>[\s\S]*<table>[\s\S]*<th scope="col">[\s\S]*<th scope="row">/)
    }
    expect(page.match(/graphics-symbol|aria-roledescription/)).toBeNull()
    expect(page).toMatch(/aria-label="Calls over time: \d+ allowed, \d+ denied; most denied/)
  })

  it('has dark colours for everything that is drawn', () => {
    const [light = '', dark = ''] = page.split('@media (prefers-color-scheme:dark)')
    const drawn = new Set(
      [...light.matchAll(/(?:fill|stroke)="(#\w+)"/g)].map(([, colour]) => colour),
    )
    expect([...drawn].filter((colour) => !dark.includes(`"${colour}"`))).toEqual([])
    const inPlots = new Set(
      [...page.matchAll(/<(?:path|text|line|rect)[^>]* (?:fill|stroke)="(#\w+)"/g)].map(
        ([, colour]) => colour,
      ),
    )
    expect(inPlots.size).toBeGreaterThan(3)
    expect([...inPlots].filter((colour) => !dark.includes(`[fill="${colour}"]`))).toEqual([])
  })

  it('escapes the names of the log', () => {
    expect(page).not.toContain('<img')
    expect(page).toContain('&lt;/svg&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&quot;')
  })

  it('has the sections that it is given, before the notes', () => {
    expect(headingsOf(page)).toEqual([
      'Summary',
      'Limits: limits of 3',
      'Limits: limits of 5',
      'Smallest limits',
      'My section',
      'Notes',
    ])
  })
})

it('the text of a replay has the same tables', () => {
  const text = renderText(input.replay, input.facts, input.suggestion)
  expect(text).toMatch(/^ +limits of 3 +limits of 5$/m)
  expect(text).toMatch(/^rpm +- +request +3 +10 +b +2026-03-01 12:00:18$/m)
  expect(text).toContain('Left out: 1 malformed line. First: line 32: ')
})

describe('policies in shadow', () => {
  const start = Date.UTC(2026, 2, 1, 12)
  const lines = [0, 1, 2].map((at) => `${start + at * 1_000},acme,100,10,gpt-4o`)
  const next = { name: 'next', limit: 1, window: '1m', per: ['tenant'], mode: 'shadow' } as const

  it('have a section, and tables in the text', async () => {
    const log = await openLog(
      write('log.csv', `time,tenant,input,output,model\n${lines.join('\n')}`),
    )
    const set = policySet('limits', { policies: [slidingWindow(next)] })
    const result = await replay(log.calls(), [set])
    const html = await renderHtml({ title: 'log.csv', replay: result, facts: log.facts })
    expect(headingsOf(html)).toEqual(['Summary', 'Limits: limits', 'In shadow: limits', 'Notes'])
    expect(html).toContain(
      '<caption>Tenants that &quot;next&quot; would have denied most</caption>',
    )
    const text = renderText(result, log.facts)
    expect(text).toMatch(/^next +3 +2 +66\.7 % +220 +\$0\.0007$/m)
    expect(text).toMatch(/^acme +3 +2 +66\.7 % +220 +\$0\.0007$/m)
  })

  it('have no section if there are none', () => {
    expect(page).not.toContain('In shadow')
    expect(renderText(input.replay, input.facts)).not.toContain('shadow')
  })

  it('have the same section from what production has recorded', async () => {
    const { limiter } = recording([slidingWindow(next)])
    for (let call = 0; call < 2; call += 1) await limiter.check({ tenant: 'acme' })
    const { policies } = shadowReport(await usage(limiter))
    const { html } = shadowSection('In production', policies)
    expect(html).toMatch(/<th scope="row">acme<\/th><td>2<\/td><td>1<\/td><td>50\.0 %<\/td>/)
  })
})
