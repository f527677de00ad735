import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { readBlock } from '../support/docs-block.ts'

it('the first file of the docs runs as it is, and prints what the page shows', () => {
  const page = readFileSync(new URL('../../docs/getting-started.md', import.meta.url), 'utf8')
  const [, shown] = /```text\n([^]*?)```/.exec(page) ?? []
  // Inside the workspace, so that the packages are found as a user's would be.
  const folder = mkdtempSync(fileURLToPath(new URL('getting-started-', import.meta.url)))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'first.ts'), readBlock('getting-started.md', 'first.ts'))
  const { VITEST: _, NODE_ENV: _env, ...env } = process.env
  const ran = spawnSync(process.execPath, ['first.ts'], { cwd: folder, env, encoding: 'utf8' })
  expect([ran.stderr, ran.stdout]).toEqual(['', shown])
})
