import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createLimiter, type Limiter, type Store } from '@sluice/core'
import { leased } from '@sluice/core/leases'
import { isEnd } from './places.ts'
import { parseLog, type LoggedDecision, type LoggedReset } from './log.ts'
import { clockOf, limitsForSwarm, type Traffic } from './traffic.ts'
import type { WorkerSettings } from './worker.ts'

/** The size of a swarm, and its Redis. */
export interface SwarmOptions {
  readonly processes: number
  /** The decisions to make in all. */
  readonly decisions: number
  /** The time until which to go on at least, in epoch ms of the swarm's clock. @default none */
  readonly until?: number
  readonly traffic: Traffic
  readonly kills: number
  readonly resets: number
  readonly prefix: string
  readonly rest?: { readonly url: string; readonly token: string }
  readonly redisUrl?: string
  /** Durable Objects instead of Redis. */
  readonly objectsUrl?: string
  /** A Redis Cluster instead. */
  readonly clusterPorts?: readonly number[]
  /** Regions instead, which processes are in by turns. */
  readonly regions?: readonly { readonly homeUrl: string; readonly hereUrl: string }[]
  /** Several databases instead. */
  readonly databaseUrls?: readonly string[]
  /** True if the store may fail meanwhile, as objects that are killed do. */
  readonly mayFail?: boolean
  /** The store for resets. It leases itself if it has places. */
  readonly store: Store
  /** The times to go on to the next stage of moves, and the store for resets in each. @default none */
  readonly moves?: number
  readonly openStage?: (stage: number) => Promise<Store & { close(): void }>
}

/** The logs of a swarm. */
export interface SwarmLog {
  readonly decisions: readonly LoggedDecision[]
  readonly resets: readonly LoggedReset[]
  readonly killed: number
}

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Runs processes until they have made so many decisions. Kills some of them and resets tenants meanwhile. */
export async function runSwarm(options: SwarmOptions): Promise<SwarmLog> {
  const folder = mkdtempSync(join(tmpdir(), 'leases-'))
  const swarm = new Swarm(options, folder)
  try {
    return await swarm.run()
  } finally {
    swarm.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

class Swarm {
  readonly #options: SwarmOptions
  readonly #folder: string
  readonly #running: ChildProcess[] = []
  readonly #counts = new Map<ChildProcess, number>()
  readonly #logFiles: string[] = []
  readonly #resets: LoggedReset[] = []
  #killed = 0
  #stage = 0
  #closeStage: (() => void) | undefined
  #failure: string | undefined
  #wake: (() => void) | undefined

  constructor(options: SwarmOptions, folder: string) {
    this.#options = options
    this.#folder = folder
  }

  async run(): Promise<SwarmLog> {
    const { processes, decisions, until = 0, kills, resets, moves = 0, traffic } = this.#options
    const clock = clockOf(traffic)
    const { store } = this.#options
    let limiter = createLimiter({
      store: this.#places ? store : leased(store),
      ...limitsForSwarm(traffic),
    })
    for (let count = 0; count < processes; count += 1) this.#start()
    // Many decisions may be made while one process is killed.
    const isComplete = (): boolean =>
      this.#killed >= kills && this.#resets.length >= resets && this.#stage >= moves
    while (this.#decided() < decisions || clock() < until || !isComplete()) {
      await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#assertSound()
      const share = this.#decided() / decisions
      while (this.#killed < Math.min(kills, Math.floor(share * (kills + 1)))) {
        if (!this.#hasDecided(this.#running[0])) break
        await this.#killOldest()
      }
      while (this.#resets.length < Math.min(resets, Math.floor(share * (resets + 1)))) {
        await this.#reset(limiter)
      }
      while (this.#stage < Math.min(moves, Math.floor(share * (moves + 1)))) {
        limiter = await this.#nextStage(limiter)
      }
    }
    await Promise.all(this.#running.map((child) => this.#stop(child)))
    this.#closeStage?.()
    this.#assertSound()
    return {
      decisions: this.#logFiles.flatMap((file) => parseLog(readFileSync(file, 'utf8'))),
      resets: this.#resets,
      killed: this.#killed,
    }
  }

  /** Kills what is still running. */
  end(): void {
    for (const child of this.#running) child.kill('SIGKILL')
  }

  get #places(): Partial<WorkerSettings> | undefined {
    const { objectsUrl, clusterPorts, databaseUrls, regions, openStage } = this.#options
    if (objectsUrl !== undefined) return { objectsUrl }
    if (clusterPorts) return { clusterPorts }
    const region = regions?.[this.#logFiles.length % regions.length]
    if (region) return { region }
    return databaseUrls && { databaseUrls, ...(openStage && { stage: this.#stage }) }
  }

  #start(): void {
    const { prefix, traffic, rest, redisUrl = '', mayFail = false } = this.#options
    const number = this.#logFiles.length
    const logFile = join(this.#folder, `${number}.log`)
    const common = { seed: 7 + number, logFile, prefix, traffic, mayFail }
    const store = this.#places ?? (number % 2 === 0 && rest ? { rest } : { redisUrl })
    const settings: WorkerSettings = { ...common, ...store }
    const child = fork(WORKER, [JSON.stringify(settings)], { execArgv: [] })
    this.#logFiles.push(logFile)
    this.#running.push(child)
    child.on('message', (decided) => {
      this.#counts.set(child, Number(decided))
      this.#wake?.()
    })
    child.on('exit', (code) => {
      if (code !== 0 && code !== null) this.#failure = `A process ended with ${code}`
      this.#wake?.()
    })
  }

  /** Others may make all decisions while a process begins: one that has no leases yet is not killed. */
  #hasDecided(child: ChildProcess | undefined): boolean {
    return child !== undefined && this.#counts.has(child)
  }

  /** Kills the process that has run longest, in the middle of its leases, and starts another. */
  async #killOldest(): Promise<void> {
    const child = this.#running.shift()
    if (!child) return
    child.kill('SIGKILL')
    await once(child, 'exit')
    this.#killed += 1
    this.#start()
  }

  /**
   * Replaces all processes by those of the next stage, one after another. Before a stage that ends a move, each tenant is
   * asked for, as the docs say.
   */
  async #nextStage(limiter: Limiter): Promise<Limiter> {
    const { traffic, openStage } = this.#options
    if (!openStage) throw new Error('there are no stages')
    this.#stage += 1
    if (isEnd(this.#stage)) {
      for (let tenant = 0; tenant < traffic.tenants; tenant += 1) {
        for (const route of ['plain', 'fast']) {
          const { degraded } = await limiter.peek({ tenant: `t${tenant}`, route, plan: 'small' })
          if (degraded) throw new Error(`A tenant could not be asked for: ${degraded.cause}`)
        }
      }
    }
    for (const child of this.#running.splice(0)) {
      this.#start()
      await setTimeout(100)
      await this.#stop(child)
    }
    this.#closeStage?.()
    const store = await openStage(this.#stage)
    this.#closeStage = () => store.close()
    return createLimiter({ store, ...limitsForSwarm(traffic) })
  }

  async #reset(limiter: Limiter): Promise<void> {
    const { traffic } = this.#options
    const clock = clockOf(traffic)
    const tenant = `t${this.#resets.length % traffic.tenants}`
    const before = clock()
    // An attempt that failed may have been made: it lies in the same span.
    for (let attempt = 1; ; attempt += 1) {
      try {
        await limiter.reset({ tenant }, { policies: ['rpm', 'quota'] })
        break
      } catch (error) {
        if (!this.#options.mayFail || attempt === 50) throw error
        await setTimeout(100)
      }
    }
    this.#resets.push({ tenant, before, after: clock() })
  }

  #assertSound(): void {
    if (this.#failure !== undefined) throw new Error(this.#failure)
  }

  async #stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.send('stop')
    await ended
  }

  #decided(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }
}
