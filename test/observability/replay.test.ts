import { spawnSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'

const COMMAND = fileURLToPath(new URL('../../packages/cli/bin/sluice.js', import.meta.url))
const CALLS = 1_000_000
const LIMIT = 10
const folder = mkdtempSync(join(tmpdir(), 'replay-'))

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Denied {
  calls: number
  tokens: number
}

/** Writes a log of a million calls, and counts those that a limit of 10 a minute denies, in plain arithmetic. */
async function writeLog(path: string): Promise<Denied> {
  const out = createWriteStream(path)
  const denied = { calls: 0, tokens: 0 }
  const recent = new Map<string, number[]>()
  let [state, at] = [20_260_301, Date.UTC(2026, 2, 1)]
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  out.write('time,tenant,input,output\n')
  for (let index = 0; index < CALLS; index += 1) {
    at += random(20)
    // Five of 5,000 tenants send a tenth of the calls.
    const tenant = `t${random(10) === 0 ? random(5) : random(5_000)}`
    const [input, output] = [random(4_000), random(600)]
    const calls = (recent.get(tenant) ?? []).filter((one) => one > at - 60_000)
    if (calls.length < LIMIT) calls.push(at)
    else {
      denied.calls += 1
      denied.tokens += input + output
    }
    recent.set(tenant, calls)
    const line = `${new Date(at).toISOString()},${tenant},${input},${output}\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return denied
}

it('replays a million calls exactly, in memory that does not hold the log', async () => {
  const log = join(folder, 'log.csv')
  const expected = await writeLog(log)
  expect(expected.calls).toBeGreaterThan(50_000)
  const limits = join(folder, 'limits.mjs')
  writeFileSync(
    limits,
    `import { slidingWindow } from '${import.meta.resolve('@sluice/core')}'
export const policies = [slidingWindow({ name: 'rpm', limit: ${LIMIT}, window: '1m', per: ['tenant'] })]`,
  )

  // The log has 41 MB as text, and several times that as objects.
  const args = ['--max-old-space-size=100', COMMAND, 'replay', log, '--limits', limits, '--json']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  })

  expect(stderr).toMatch(/replay: 100 %\n$/)
  expect(status).toBe(0)
  const {
    log: read,
    sets,
    facts,
  } = JSON.parse(stdout) as {
    log: { used: Denied }
    sets: { denied: Denied }[]
    facts: object
  }
  expect(read.used.calls).toBe(CALLS)
  expect(sets[0]?.denied).toMatchObject(expected)
  expect(facts).toMatchObject({ malformed: { count: 0 } })
}, 900_000)
