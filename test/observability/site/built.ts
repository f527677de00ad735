import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from '../dashboard/browser.ts'

export const root = fileURLToPath(new URL('../../..', import.meta.url))
export const BASE = '/guide/'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown',
}

/** The site, built once for all tests of it, on a server and in a browser. */
export interface BuiltSite {
  readonly folder: string
  /** The address of its first page. */
  readonly address: string
  /** The files of its pages, from its folder. */
  readonly pages: readonly string[]
  /** Opens a page in a context of its own. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>
  close(): Promise<void>
}

const run = (...command: string[]): unknown =>
  execFileSync(process.execPath, command, {
    cwd: root,
    stdio: 'pipe',
    env: { ...process.env, NODE_ENV: 'production' },
  })

/** Builds the site as `npm run site` does, with packages that are built. */
export async function buildSite(): Promise<BuiltSite> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-site-'))
  run('scripts/api-reference.ts')
  const vitepress = 'node_modules/vitepress/bin/vitepress.js'
  run(vitepress, 'build', 'apps/site', '--base', BASE, '--outDir', folder)
  const server = await serve(folder)
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`
  const browser = await openBrowser()
  return {
    folder,
    address,
    pages: globSync('**/*.html', { cwd: folder }).filter((page) => page !== '404.html'),
    open: (path, options) => openPage(browser, address + path, options),
    async close() {
      await browser.close()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openPage(
  browser: Browser,
  url: string,
  options?: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(url)
  return page
}

/** Serves the files of the site below its base, as any static server does. */
function serve(folder: string): Promise<Server> {
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
