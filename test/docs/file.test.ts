import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/without-redis.md', import.meta.url), 'utf8')
const [limits = '', grown = ''] = Array.from(
  page.matchAll(/```ts\n([^]*?)```/g),
  ([, code]) => code,
)

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('file-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CHECKS = `
import { limiter } from './limits.js'
const checks = Array.from({ length: 15 }, () => limiter.check({ tenant: 'acme' }))
console.log((await Promise.all(checks)).filter(({ allowed }) => allowed).length)
`

/** Runs 15 checks in a process of their own, and returns what it prints. */
function run(): { out: string; err: string } {
  const { stdout, stderr } = spawnSync(process.execPath, ['checks.js'], {
    cwd: folder,
    encoding: 'utf8',
  })
  return { out: stdout, err: stderr }
}

it('the limiter of the page counts on after a restart, and says for which it is beside its output', () => {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'limits.js'), limits)
  writeFileSync(join(folder, 'checks.js'), CHECKS)
  const err = expect.stringMatching(
    /^Sluice: file\(\) counts in .*\.sluice, for this process alone.*\n$/,
  )
  expect(run()).toEqual({ out: '15\n', err })
  expect(run()).toEqual({ out: '5\n', err })
})

it('one line is replaced to grow out of it', async () => {
  const { upstash } = (await import('@sluice/core/upstash')) as { upstash: () => object }
  const [, line = ''] = /const store = (\S+)/.exec(grown) ?? []
  expect(line).toBe('upstash()')
  expect(limits).toContain("store: file('.sluice')")
  expect(upstash()).toHaveProperty('check')
})
