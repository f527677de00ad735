import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('start-types-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const root = fileURLToPath(new URL('../../docs/start/', import.meta.url))
const pages = globSync('*.md', { cwd: root })
  .map((file) => ({ name: file.replace('.md', ''), page: readFileSync(join(root, file), 'utf8') }))
  .flatMap(({ name, page }) => {
    const [, project] = /`tsconfig\.json`:\n\n```json\n([^]*?)```/.exec(page) ?? []
    return project === undefined ? [] : [{ name, page, project }]
  })

describe('the tsconfig.json of a page to start with', () => {
  it('is on each page whose server Node runs as it is written', () => {
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

  it.each(pages)('$name: accepts the files of the page', ({ name, page, project }) => {
    const app = join(folder, name)
    mkdirSync(app)
    writeFileSync(join(app, 'tsconfig.json'), project)
    const [head = ''] = page.split('## 4. Call it')
    for (const [, file = '', code = ''] of head.matchAll(/```ts\n\/\/ (\S+)\n([^]*?)```/g)) {
      writeFileSync(join(app, file), code)
    }
    const { stdout, status } = spawnSync('tsc', ['-p', app], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  })
})
