import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { durableObjects } from '../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { namespaceAt } from '../support/remote-objects.ts'
import { freshPrefix } from '../support/stores.ts'
import { startWorkerdObjects } from '../support/workerd-objects.ts'
import { findingsOf, outOfTime } from './findings.ts'
import { runSwarm } from './swarm.ts'
import type { Traffic } from './traffic.ts'

/** `npm run test:leases` makes a million. */
const DECISIONS = Number(process.env['LEASE_DECISIONS'] ?? 6_000)

const TRAFFIC: Traffic = {
  tenants: 4,
  windowMs: 4_000,
  quotaMs: 6_000,
  leaseMs: 400,
  planMs: 5_000,
  turnMs: 120,
  // Low enough to be reached on a busy machine, too, while objects die all the time.
  limits: {
    everyone: 500,
    small: { rpm: 75, quota: 125 },
    large: { rpm: 150, quota: 200 },
    plain: 5,
  },
}

it(
  'objects that are aborted all the time, in a workerd that is killed, exceed no limit',
  { timeout: 1_800_000 },
  async () => {
    const storage = mkdtempSync(join(tmpdir(), 'objects-'))
    let workerd = await startWorkerdObjects({ storage })
    const { url } = workerd
    const prefix = freshPrefix()
    const store = durableObjects(namespaceAt(url), { prefix, timeoutMs: 30_000 })
    const ending = new AbortController()
    let deaths = 0
    let kills = 0

    async function kill(): Promise<void> {
      for (let beat = 1; !ending.signal.aborted; beat += 1) {
        await setTimeout(250)
        const name = beat % 5 === 0 ? 'home' : `tenant=t${beat % TRAFFIC.tenants}`
        await workerd.die(`${prefix}/${name}`)
        deaths += 1
        if (beat % 12 !== 0) continue
        process.kill(workerdBelow(process.pid), 'SIGKILL')
        kills += 1
        await workerd[Symbol.asyncDispose]()
        workerd = await startWorkerdObjects({ storage, port: Number(url.port) })
      }
    }

    const killing = kill()
    try {
      const swarm = { processes: 2, kills: 1, resets: 3, decisions: DECISIONS, traffic: TRAFFIC }
      const log = await runSwarm({
        ...swarm,
        prefix,
        store,
        objectsUrl: url.href,
        mayFail: true,
      })
      const findings = findingsOf(TRAFFIC, log)
      expect(findings.flatMap(({ found }) => found.violations)).toEqual([])
      expect(outOfTime(log.decisions)).toEqual([])
      expect(log.decisions.length).toBeGreaterThanOrEqual(DECISIONS)
      expect(log.decisions.some(({ allowed }) => !allowed)).toBe(true)
      expect(deaths).toBeGreaterThan(3)
      console.info(
        `${log.decisions.length} decisions in objects, ${deaths} aborts, ${kills} kills; fullest window: ${findings
          .map(({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`)
          .join(', ')}`,
      )
    } finally {
      ending.abort()
      await killing
      await workerd[Symbol.asyncDispose]()
      rmSync(storage, { recursive: true, force: true })
    }
  },
)

/** Returns the id of the workerd that this process has started last. */
function workerdBelow(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean),
  )
  const found = children
    .map(Number)
    .toSorted((a, b) => b - a)
    .find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('workerd'))
  if (found === undefined) throw new Error('there is no workerd')
  return found
}
