import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const vitest = (...args: string[]) => {
  const env = { ...process.env, TEST_SUITE: 'all', TEST_CLUSTER: 'none' }
  return spawnSync('node_modules/.bin/vitest', args, { cwd: root, env, encoding: 'utf8' })
}

it('a folder that a cut-off run has left is not collected', () => {
  const folder = mkdtempSync(join(root, 'test/docs/extending-'))
  try {
    writeFileSync(join(folder, 'left.test.ts'), '')
    const { stdout } = vitest('list', '--filesOnly', 'test/docs/extending')
    expect(stdout.match(/test\/\S+/g)).toEqual(['test/docs/extending.test.ts'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it.each([
  ['fails', 'no-such-name', 1],
  ['passes', 'the title of a test', 0],
])('a run of tests by name %s when the name is %s', (_, name, status) => {
  const ran = vitest('run', 'test/architecture/titles.test.ts', '-t', name)
  expect(ran.stderr.includes('NOT TESTED')).toBe(status === 1)
  expect(ran.status).toBe(status)
})
