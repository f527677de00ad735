/*
 * Processes that work on one queue, and are killed; their Redis, too. From their logs alone: each job ran to its end, no
 * more ran at a time than the limit, and each was charged once.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { countJobs } from '@sluice/queue'
import { expect, it, onTestFinished } from 'vitest'
import { lastingRedis } from './lasting-redis.ts'
import { CAP, costOf, IN_FLIGHT, monotonicMs, openQueue, TENANTS, tenantOf } from './limits.ts'

/** The jobs of the swarm; the command in the docs runs 100,000. */
const JOBS = Number(process.env['QUEUE_JOBS'] ?? 3_000)
const PROCESSES = 3
/** A process is killed at so many of these parts of the jobs, and Redis at half as many. */
const PARTS = 12

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

interface LogLine {
  readonly act: 'begin' | 'end' | 'fail'
  readonly job: number
  readonly at: number
}

const linesOf = (file: string): LogLine[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [act, job, at] = line.split(' ')
      return { act: act as LogLine['act'], job: Number(job), at: Number(at) }
    })

/** One process, and the file that it logs to. */
interface Member {
  readonly child: ChildProcess
  readonly file: string
  diedAt: number
}

it(
  'a swarm that is killed runs every job, charges it once, and never exceeds the limit',
  { timeout: 300_000 + JOBS * 60 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'queue-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await using server = await lastingRedis('always')
    const { limiter, queue, close } = openQueue(server.url)
    onTestFinished(close)
    const members: Member[] = []
    const start = (): void => {
      const file = join(folder, `${members.length}.log`)
      const args = [server.url, file, String(members.length + 1)]
      const child = fork(WORKER, args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
      members.push({ child, file, diedAt: Infinity })
    }
    const living = (): Member[] => members.filter(({ diedAt }) => diedAt === Infinity)
    const all = Array.from({ length: JOBS }, (_, job) => ({
      data: job,
      subject: { tenant: tenantOf(job) },
      cost: { token: costOf(job) },
      id: `job-${job}`,
    }))
    await queue.addAll(all)
    for (let count = 0; count < PROCESSES; count += 1) start()

    let killed = 0
    let restarts = 0
    for (;;) {
      const counts = await countJobs(queue).catch(() => undefined)
      if (counts) {
        const left = counts.waiting + counts.delayed + counts.running
        if (left === 0 && killed === PARTS - 1) break
        const isDue = killed < PARTS - 1 && JOBS - left > (killed + 1) * (JOBS / PARTS)
        // One that has not begun yet has nothing to lose.
        const victim = living().find(({ file }) => existsSync(file))
        if (isDue && victim) {
          victim.child.kill('SIGKILL')
          await once(victim.child, 'exit')
          victim.diedAt = monotonicMs()
          start()
          killed += 1
          if (killed % 2 === 0) {
            await server.restart()
            restarts += 1
          }
        }
      }
      await setTimeout(20)
    }
    const lastOnes = living()
    for (const { child } of lastOnes) child.send('stop')
    await Promise.all(lastOnes.map(({ child }) => once(child, 'exit')))
    expect([killed, restarts]).toEqual([PARTS - 1, Math.floor((PARTS - 1) / 2)])

    // Every job has run to its end.
    const logs = members.map(({ file, diedAt }) => ({ diedAt, lines: linesOf(file) }))
    const lines = logs.flatMap((one) => one.lines)
    const ended = new Set(lines.filter(({ act }) => act === 'end').map(({ job }) => job))
    expect(ended.size).toBe(JOBS)
    const begun = lines.filter(({ act }) => act === 'begin').length
    expect(begun).toBeGreaterThan(JOBS)

    // Each was charged once, however often it ran.
    for (let tenant = 0; tenant < TENANTS; tenant += 1) {
      const own = all.filter(({ subject }) => subject.tenant === `t${tenant}`)
      const cost = own.reduce((sum, job) => sum + job.cost.token, 0)
      const { policies } = await limiter.peek({ tenant: `t${tenant}` }, { cost: { token: 0 } })
      expect([CAP - (policies[0]?.remaining ?? 0), policies[1]?.remaining]).toEqual([
        cost,
        IN_FLIGHT,
      ])
    }

    // Never more at a time than the limit.
    const crowds = crowdsOf(logs)
    expect(crowds.filter(({ length }) => length > IN_FLIGHT)).toEqual([])
    expect(Math.max(...crowds.map(({ length }) => length))).toBeGreaterThan(IN_FLIGHT - 3)
  },
)

/** A run of a job, from its begin to its end; that of a process that was killed ends with it. */
interface Run {
  readonly job: number
  readonly process: number
  readonly from: number
  readonly to: number
}

/** Returns the runs that were going on at each begin of one. */
function crowdsOf(logs: readonly { lines: readonly LogLine[]; diedAt: number }[]): Run[][] {
  const runs = logs.flatMap(({ lines, diedAt }, process) => {
    const own: { job: number; process: number; from: number; to: number }[] = []
    for (const { act, job, at } of lines) {
      if (act === 'begin') own.push({ job, process, from: at, to: diedAt })
      else {
        // A process may have lost a job and got it again: the run that began first ends first.
        const run = own.find((one) => one.job === job && one.to === diedAt)
        if (!run) throw new Error(`job ${job} ended in process ${process} without a begin`)
        run.to = at
      }
    }
    return own
  })
  let going: Run[] = []
  return runs
    .toSorted((a, b) => a.from - b.from)
    .map((run) => {
      going = going.filter(({ to }) => to > run.from).concat(run)
      return going
    })
}
