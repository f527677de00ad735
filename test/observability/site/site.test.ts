import { AxeBuilder } from '@axe-core/playwright'
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER, openBrowser } from '../dashboard/browser.ts'
import { QUESTIONS } from './questions.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const BASE = '/guide/'
const folder = mkdtempSync(join(tmpdir(), 'sluice-site-'))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown',
}

/** Serves the files of the site below its base, as any static server does. */
function serve(): Promise<Server> {
  const server = createServer(({ url = '' }, response) => {
    const path = decodeURI(url.replace(/[?#].*/, ''))
    const file = join(folder, path.slice(BASE.length), path.endsWith('/') ? 'index.html' : '')
    try {
      if (!path.startsWith(BASE)) throw new Error('not of the site')
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
      response.end(readFileSync(file))
    } catch {
      response.writeHead(404).end()
    }
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

const pages = (): string[] =>
  globSync('**/*.html', { cwd: folder }).filter((page) => page !== '404.html')
const htmlOf = (page: string): string => readFileSync(join(folder, page), 'utf8')

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

describe.skipIf(BROWSER === undefined)('the site of the docs', () => {
  let server: Server
  let browser: Browser
  let address: string

  beforeAll(async () => {
    execFileSync(
      process.execPath,
      [
        'node_modules/vitepress/bin/vitepress.js',
        'build',
        'apps/site',
        '--base',
        BASE,
        '--outDir',
        folder,
      ],
      { cwd: root, stdio: 'pipe', env: { ...process.env, NODE_ENV: 'production' } },
    )
    server = await serve()
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`
    browser = await openBrowser()
  }, 240_000)
  afterAll(async () => {
    await browser.close()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(
    path: string,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Page> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await page.goto(address + path)
    return page
  }

  it('has each page of the docs and each README, with its Markdown beside it', () => {
    const sources = globSync(['*.md', 'docs/**/*.md', '{apps,packages}/*/README.md'], {
      cwd: root,
      exclude: (path) => path.includes('node_modules') || path === 'docs/api',
    })
    expect(sources.length).toBeGreaterThan(80)
    for (const source of sources) {
      const twin = source.replace(/README\.md$/, 'index.md')
      expect(pages()).toContain(twin.replace(/md$/, 'html'))
      expect(readFileSync(join(folder, twin), 'utf8')).toBe(
        readFileSync(join(root, source), 'utf8'),
      )
    }
  })

  it('has only links that lead to a page, and to a heading of it', () => {
    const anchors = new Map<string, Set<string>>()
    const anchorsOf = (page: string): Set<string> => {
      const known = anchors.get(page)
      if (known) return known
      const ids = new Set(Array.from(htmlOf(page).matchAll(/ id="([^"]*)"/g), ([, id = '']) => id))
      anchors.set(page, ids)
      return ids
    }
    const dead = pages().flatMap((page) =>
      linksOf(page)
        .filter(([file, anchor]) => {
          const exists = statSync(join(folder, file), { throwIfNoEntry: false })?.isFile()
          return (
            !exists || (anchor !== '' && file.endsWith('.html') && !anchorsOf(file).has(anchor))
          )
        })
        .map(([file, anchor]) => `${page}: ${file}#${anchor}`),
    )
    expect(dead).toEqual([])
  })

  it('asks nobody else for anything', async () => {
    const page = await open('docs/credits.html')
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(new URL(request.url()).host))
    await page.reload({ waitUntil: 'networkidle' })
    expect([...asked]).toEqual([new URL(address).host])
  })

  it('copies a page as Markdown', async () => {
    const page = await open('docs/credits.html', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('button', { name: 'Copy as Markdown' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toBe(readFileSync(join(root, 'docs/credits.md'), 'utf8'))
  })

  it.each([
    ['light', 1280, ['', 'docs/start/hono.html', 'docs/credits.html']],
    ['dark', 1280, ['docs/start/hono.html']],
    ['light', 390, ['docs/start/hono.html']],
  ] as const)(
    'has no barrier that axe knows, %s, %i pixels wide',
    async (colorScheme, width, paths) => {
      for (const path of paths) {
        const page = await open(path, { colorScheme, viewport: { width, height: 800 } })
        const { violations } = await new AxeBuilder({ page }).analyze()
        expect(violations.map(({ id, nodes }) => [path, id, nodes[0]?.html])).toEqual([])
        await page.context().close()
      }
    },
  )

  it('finds the page that answers a question among the first three, for five sixths of them', async () => {
    const page = await open('docs/')
    const missed: string[] = []
    for (const [question, answers] of Object.entries(QUESTIONS)) {
      await page.keyboard.press('Control+k')
      const box = page.locator('#localsearch-input')
      const results = page.locator('#localsearch-list a')
      // The list of the question before goes first.
      await box.fill('')
      await results.first().waitFor({ state: 'detached' })
      await box.fill(question)
      await results.first().waitFor()
      const links = await results.evaluateAll((all) =>
        all.map((one) => one.getAttribute('href') ?? ''),
      )
      const found = [
        ...new Set(links.map((link) => link.slice(BASE.length).replace(/\.html.*|#.*/, ''))),
      ].slice(0, 3)
      if (!found.some((one) => answers.includes(one)))
        missed.push(`${question}: ${found.join(', ')}`)
      await page.keyboard.press('Escape')
    }
    // The list tells which they are.
    expect(missed).toEqual(missed.slice(0, 5))
  })
})
