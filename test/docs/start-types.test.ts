import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { filesOf, START_PAGES, startPage } from '../../scripts/start-pages.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('start-types-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const pages = START_PAGES.map((name) => ({ name, page: startPage(name) })).filter(({ page }) =>
  page.includes('// server.ts\n'),
)

describe('the tsconfig.json of the pages to start with', () => {
  it('is for each page whose server Node runs as it is written', () => {
    expect(pages.map(({ name }) => name).toSorted()).toEqual([
      'express',
      'fastify',
      'fetch',
      'h3',
      'hono',
      'mcp',
      'trpc',
    ])
  })

  const [, settings = ''] = /```json\n([^]*?)```/.exec(startPage('README')) ?? []

  it.each(pages)('$name: accepts the files of the page', ({ name, page }) => {
    const app = join(folder, name)
    mkdirSync(app)
    writeFileSync(join(app, 'tsconfig.json'), settings)
    const [head = ''] = page.split('## 4. Call it')
    for (const [file, code] of filesOf(head)) {
      writeFileSync(join(app, file), code)
    }
    const { stdout, status } = spawnSync('tsc', ['-p', app], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  })
})
