import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'))
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, manifest: object): void => {
  mkdirSync(join(folder, 'packages', name), { recursive: true })
  writeFileSync(join(folder, 'packages', name, 'package.json'), JSON.stringify(manifest))
}
const release = () =>
  spawnSync(process.execPath, [join(folder, 'scripts/release.mjs')], { encoding: 'utf8' })

it('a release ends before it publishes anything if a package names no repository', () => {
  cpSync(join(root, 'scripts/release.mjs'), join(folder, 'scripts/release.mjs'))
  const repository = { type: 'git', url: 'git+https://example.com/a.git' }
  write('core', { repository })
  write('next', {})
  const refused = release()
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain('packages/next/package.json: repository is missing.')
  write('next', { repository })
  expect(release().status).toBe(0)
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect(scripts['release']).toMatch(/^node scripts\/release\.mjs && .* && changeset publish$/)
})
