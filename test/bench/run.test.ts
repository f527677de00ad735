import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const main = fileURLToPath(new URL('../../apps/bench/src/main.ts', import.meta.url))
const bench = (args: string) => promisify(execFile)(process.execPath, [main, ...args.split(' ')])

describe('npm run bench', () => {
  it('measures the scenarios that are named, and prints the machine and a table of each', async () => {
    const { stdout, stderr } = await bench('--rounds 1 --scenario cpu --scenario denied-flood')
    expect(stdout).toMatch(/^Medians; rounds: 1\. .+, \d+ cores, \d+ GB; Node [\d.]+, Redis [\d.]+/)
    const tables = stdout.split(/^## /m).slice(1)
    expect(tables.map((table) => table.split(':')[0])).toEqual(['cpu', 'denied-flood'])
    for (const table of tables) {
      const lines = table.split('\n').filter((line) => line.startsWith('|'))
      expect(lines.length).toBeGreaterThan(2)
      expect(new Set(lines.map((line) => line.length)).size).toBe(1)
      expect(table).not.toMatch(/NaN|undefined/)
    }
    expect(stderr).toContain('[1/2] cpu, group 1: round 1 of 1\n')
  })

  it('says what it can measure, and what it does not know', async () => {
    expect((await bench('--help')).stdout).toContain('--write')
    await expect(bench('--scenario nothing')).rejects.toMatchObject({
      stderr: expect.stringContaining('--scenario nothing is unknown'),
    })
    await expect(bench('--rounds 0')).rejects.toMatchObject({ code: 1 })
  })
})
