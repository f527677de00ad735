import { AxeBuilder } from '@axe-core/playwright'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER } from '../dashboard/browser.ts'
import { BASE, buildSite, root, type BuiltSite } from './built.ts'
import { describePlayground } from './playground.ts'
import { describeReaders } from './readers.ts'
import { describeSearch, describeSearchBox } from './search.ts'
import { describeTabs } from './tabs.ts'
import { describeTwins } from './twins.ts'

describe.skipIf(BROWSER === undefined)('the site of the docs', () => {
  let site: BuiltSite

  // On a busy machine.
  beforeAll(async () => {
    site = await buildSite()
  }, 600_000)
  afterAll(() => site.close())

  const htmlOf = (page: string): string => readFileSync(join(site.folder, page), 'utf8')

  /** The links of a page to others of the site: the file, and the anchor. */
  function linksOf(page: string): [file: string, anchor: string][] {
    return Array.from(htmlOf(page).matchAll(/ (?:href|src)="([^"]*)"/g), ([, link = '']) => link)
      .filter((link) => !/^(?:[a-z]+:|data:)/.test(link))
      .map((link): [string, string] => {
        const [path = '', anchor = ''] = link.replace(/\?.*/, '').split('#')
        const inSite = path.startsWith('/')
          ? path.slice(BASE.length)
          : posix.join(dirname(page), path)
        const file = path === '' ? page : inSite
        return [
          file === '' || file.endsWith('/') ? `${file}index.html` : file,
          decodeURIComponent(anchor),
        ]
      })
  }

  it('has only links that lead to a page, and to a heading of it', () => {
    const anchors = new Map<string, Set<string>>()
    const anchorsOf = (page: string): Set<string> => {
      const known = anchors.get(page)
      if (known) return known
      const ids = new Set(Array.from(htmlOf(page).matchAll(/ id="([^"]*)"/g), ([, id = '']) => id))
      anchors.set(page, ids)
      return ids
    }
    const dead = site.pages.flatMap((page) =>
      linksOf(page)
        .filter(([file, anchor]) => {
          const exists = statSync(join(site.folder, file), { throwIfNoEntry: false })?.isFile()
          return (
            !exists || (anchor !== '' && file.endsWith('.html') && !anchorsOf(file).has(anchor))
          )
        })
        .map(([file, anchor]) => `${page}: ${file}#${anchor}`),
    )
    expect(dead).toEqual([])
  })

  it('links each entry from the page of its package, and functions from pages that name them', () => {
    const entries = site.pages.filter((page) => /^docs\/api\/(?!index)/.test(page))
    expect(entries.length).toBeGreaterThan(70)
    const ofPackages = site.pages.filter((page) => page.startsWith('packages/'))
    const linked = new Set(ofPackages.flatMap((page) => linksOf(page).map(([file]) => file)))
    expect(entries.filter((page) => !linked.has(page))).toEqual([])
    expect(linksOf('packages/core/index.html')).toContainEqual([
      'docs/api/core.html',
      'createlimiter',
    ])
  })

  it('asks nobody else for anything', async () => {
    const page = await site.open('docs/credits.html')
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(new URL(request.url()).host))
    await page.reload({ waitUntil: 'networkidle' })
    expect([...asked]).toEqual([new URL(site.address).host])
  })

  it('copies a page as Markdown', async () => {
    const page = await site.open('docs/credits.html', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('button', { name: 'Copy as Markdown' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toBe(readFileSync(join(root, 'docs/credits.md'), 'utf8'))
  })

  it.each([
    ['light', 1280, ['', 'docs/start/hono.html', 'docs/recipes/auth-providers.html']],
    ['dark', 1280, ['docs/start/hono.html', 'docs/api/core-batched.html']],
    ['light', 390, ['docs/start/hono.html']],
  ] as const)(
    'has no barrier that axe knows, %s, %i pixels wide',
    async (colorScheme, width, paths) => {
      for (const path of paths) {
        const page = await site.open(path, { colorScheme, viewport: { width, height: 800 } })
        const { violations } = await new AxeBuilder({ page }).analyze()
        expect(violations.map(({ id, nodes }) => [path, id, nodes[0]?.html])).toEqual([])
        await page.context().close()
      }
    },
  )

  describeTwins(() => site)
  describeReaders(() => site)
  describeTabs(() => site)
  describeSearchBox(() => site)
  describeSearch(() => site)
  describePlayground(() => site)
})
