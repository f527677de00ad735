import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { coverageOf } from '../../scripts/measure/coverage.ts'
import { linesIn } from '../../scripts/measure/lines.ts'
import { REQUESTS } from './measured-requests.ts'

// Some requests do more once in a second of the real clock, such as handing off to a wrapper without a secret.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

// On a busy machine, V8 counts a call too many now and then.
it.each(Object.entries(REQUESTS))(
  'the calls of %s are counted, twice as many of two',
  { retry: 2 },
  async (_, request) => {
    await request()
    await request()
    const once = await coverageOf(request)
    const twice = await coverageOf(async () => {
      await request()
      await request()
    })
    expect(once.files).toBeGreaterThan(5)
    expect(once.calls).toBeGreaterThan(once.files)
    expect(twice).toEqual({ files: once.files, calls: 2 * once.calls })
  },
)

it('each function that runs is counted, the first of its file as well, and the file itself is not', async () => {
  const core = new URL('../../packages/core/dist/', import.meta.url)
  const { systemClock } = (await import(`${core}clock.js`)) as { systemClock: () => number }
  expect(await coverageOf(async () => systemClock())).toEqual({ files: 1, calls: 1 })
  expect(await coverageOf(() => import(`${core}internal/hex.js`))).toEqual({ files: 0, calls: 0 })
})

it('the calls of code outside the packages are not counted', async () => {
  expect(await coverageOf(async () => JSON.parse('{}') as unknown)).toEqual({ files: 0, calls: 0 })
})

it('the lines of source and tests are counted by folder, without docs and ignored files', () => {
  const root = mkdtempSync(join(tmpdir(), 'lines-'))
  try {
    execFileSync('git', ['init', '-q'], { cwd: root })
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    write('.gitignore', 'dist/\n')
    write('packages/core/src/a.ts', 'one\ntwo\n')
    write('packages/core/src/deep/b.tsx', 'three\n')
    write('packages/core/scripts/c.mjs', 'no source\n')
    write('packages/core/src/notes.md', 'no code\n')
    write('packages/core/dist/a.js', 'built\n')
    write('packages/ai/src/d.ts', 'four\n')
    expect(Object.fromEntries(linesIn(root, 'packages', 'src/'))).toEqual({ ai: 1, core: 3 })
    execFileSync('git', ['add', '.'], { cwd: root })
    rmSync(join(root, 'packages/ai/src/d.ts'))
    expect(Object.fromEntries(linesIn(root, 'packages'))).toEqual({ core: 4 })
  } finally {
    rmSync(root, { recursive: true })
  }
})
