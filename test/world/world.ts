/* A simulated world: the shipped code and scripts, with everything that can go wrong, from one seed. */
import { createHash } from 'node:crypto'
import type { Decision } from '@sluice/core'
import type { ReservationData } from '@sluice/core/reservations'
import { strike } from './incidents.ts'
import { loadFactory } from './isolate.ts'
import { Payments } from './payments.ts'
import { judgeBills, type Billed } from './judges/bill-judge.ts'
import { CallerJudge, type Call, type CallerTally } from './judges/caller-judge.ts'
import type { ServerJudge, ServerTally } from './judges/server-judge.ts'
import type { Bill } from './provider.ts'
import { Process } from './process.ts'
import { Random } from './random.ts'
import { Scheduler } from './scheduler.ts'
import { isInObjects, isMoving, isRegional } from './wrappers.ts'
import { settingOf, type Setting } from './setting.ts'
import { SimulatedObjects } from './simulated-objects.ts'
import { sharedKey, SimulatedRedis } from './simulated-redis.ts'

/** The outcome of a world. */
export interface Outcome {
  readonly seed: number
  readonly setting: Setting
  /** The findings of the judges. */
  readonly violations: readonly string[]
  /** A digest of everything that happened, in order. */
  readonly digest: string
  readonly decisions: number
  /** How often the judges have looked at each thing. */
  readonly server: ServerTally
  readonly callers: CallerTally
  /** How often somebody has stood in a line, and was let in from one. */
  readonly lines: { readonly stood: number; readonly letIn: number }
  /** How often one was let in within its share though nothing was to lend, and how often one was denied. */
  readonly shares: { readonly inPart: number; readonly denials: number }
  /** The events, if they were asked for. */
  readonly trace: readonly string[]
}

export interface WorldOptions {
  readonly decisions: number
  readonly keepsTrace?: boolean
  /** Changes the bundle of the packages. */
  readonly mutate?: (text: string) => string
  readonly replace?: Partial<Setting>
  /**
   * Receives each command with its reply. Limiters then decide by their isolate's clock and keys do not expire, so
   * that another Redis can be asked the same later. Nothing is judged.
   */
  readonly record?: (command: readonly string[], reply: unknown) => void
}

/** The time that calls in flight get to end, in milliseconds. */
const LAST_MS = 120_000

/** The longest that a region is cut off, in milliseconds: ten minutes. */
const CUT_MS = 600_000

/** The most violations to list: after the first few, a world is only confused. */
const MAX_VIOLATIONS = 20

export class World {
  readonly setting: Setting
  readonly scheduler: Scheduler
  readonly redis: SimulatedRedis
  /** Set if objects count instead. */
  readonly objects: SimulatedObjects | undefined
  /** The judge of what counts. */
  readonly judge: ServerJudge
  readonly callers: CallerJudge
  readonly payments: Payments
  readonly violations: string[] = []
  readonly trace: string[] = []
  isOver = false
  /** The region that is cut off from home. */
  cutOff: Process['region'] | undefined
  /** True once an app is deployed for which databases have changed. */
  haveMoved = false
  #calls = 0
  #decided = 0
  #losses = 0
  #lines = 0
  readonly #random: Random
  readonly #hash = createHash('sha256')
  readonly #options: WorldOptions
  readonly #plans = new Map<string, string>()
  readonly #settled = new Map<string, number>()
  readonly #lossesAt = new Map<string, number>()
  readonly #bills: Billed[] = []
  #processes: Process[] = []
  #born = 0

  private constructor(
    setting: Setting,
    scheduler: Scheduler,
    random: Random,
    options: WorldOptions,
    redis: SimulatedRedis,
    objects: SimulatedObjects | undefined,
  ) {
    this.setting = setting
    this.scheduler = scheduler
    this.#random = random
    this.#options = options
    this.redis = redis
    this.objects = objects
    this.judge = (objects ?? redis).judge
    this.callers = new CallerJudge(setting, this.judge, (what) => this.accuse(what))
    this.payments = new Payments(this.judge, (what) => this.accuse(what))
  }

  static async run(seed: number, options: WorldOptions): Promise<Outcome> {
    const random = new Random(`world ${seed}`)
    const setting = settingOf(seed, random.fork('setting'), options.replace)
    const scheduler = new Scheduler(setting.startMs)
    const observed: { world?: World } = {}
    const surroundings = {
      scheduler,
      random: random.fork('network'),
      weather: setting.weather,
      observer: {
        note: (line: string) => observed.world?.note(line),
        accuse: (what: string) => observed.world?.accuse(what),
      },
    }
    const { record, mutate } = options
    const redis = await SimulatedRedis.start(setting.isUpstash, { ...surroundings, record })
    const create = await loadFactory(mutate)
    const rules = setting.deployments.flatMap((deployment) => deployment.rules)
    const objects = isInObjects(setting.wrappers)
      ? new SimulatedObjects({ ...surroundings, create, rules })
      : undefined
    const world = new World(setting, scheduler, random, options, redis, objects)
    observed.world = world
    return world.#live(create)
  }

  async #live(create: Awaited<ReturnType<typeof loadFactory>>): Promise<Outcome> {
    const { setting, scheduler } = this
    for (let count = 0; count < setting.isolates; count += 1) this.#bear(create)
    this.#schedule(setting.weather.incidentMs, () => {
      if (this.objects) {
        this.objects.strike(this.#random, (line) => this.note(line))
        return
      }
      // A fence that is lost is no fence.
      const mayLose = !isMoving(setting.wrappers)
      const note = (line: string): void => this.note(line)
      const hasLost = strike(this.redis, scheduler, this.#random, note, mayLose)
      if (hasLost) this.#losses += 1
    })
    this.#schedule(setting.weather.deathMs, () => {
      this.#replace(this.#random.pick(this.#processes), create)
    })
    if (isRegional(setting.wrappers)) {
      this.#schedule(setting.gapMs * 100, () => {
        if (this.cutOff) return
        this.cutOff = this.#random.pick(['r1', 'r2'] as const)
        this.note(`${this.cutOff} is cut off`)
        const lasts = this.#random.chance(0.1) ? CUT_MS : this.#random.gap(setting.gapMs * 50)
        scheduler.after(lasts, () => (this.cutOff = undefined))
      })
    }
    if (isMoving(setting.wrappers)) {
      this.#schedule(setting.gapMs * 20, () => {
        this.haveMoved ||= this.#decided > this.#options.decisions / 3
        const old = this.#processes.find(({ isMoved }) => isMoved !== this.haveMoved)
        if (old) this.#replace(old, create)
      })
    }
    this.#schedule(3_000, () => {
      this.#plans.set(this.#random.pick(setting.tenants), this.#random.pick(setting.plans))
      if (setting.weather.skew) this.#random.pick(this.#processes).setClock()
    })
    await scheduler.run(() => this.#decided >= this.#options.decisions || this.#isConfused)
    this.isOver = true
    ;(this.objects ?? this.redis).condition = 'up'
    this.cutOff = undefined
    const endsAt = scheduler.now + LAST_MS
    await scheduler.run(() => scheduler.now > endsAt || this.#isConfused)
    await this.#judgeTheEnd()
    return {
      seed: setting.seed,
      setting,
      violations: this.violations,
      digest: this.#hash.digest('hex'),
      decisions: this.#decided,
      server: this.judge.tally,
      callers: this.callers.tally,
      lines: this.judge.lines.tally,
      shares: this.judge.shares.tally,
      trace: this.trace,
    }
  }

  get #isConfused(): boolean {
    return this.violations.length >= MAX_VIOLATIONS
  }

  #replace(victim: Process, create: Awaited<ReturnType<typeof loadFactory>>): void {
    this.note(`${victim.name} dies`)
    victim.kill()
    this.#processes = this.#processes.filter((one) => one !== victim)
    this.#bear(create)
  }

  #bear(create: Awaited<ReturnType<typeof loadFactory>>): void {
    const { deployments } = this.setting
    this.#born += 1
    const deployment = deployments[this.#born % deployments.length] ?? deployments[0]!
    const name = `i${this.#born}(${deployment.name})`
    const born = new Process(name, deployment, this, create, this.#random.fork(name))
    this.#processes.push(born)
    born.start()
  }

  /** Repeats something with this mean time between, while the world lasts. 0: never. */
  #schedule(meanMs: number, action: () => void): void {
    if (meanMs === 0) return
    this.scheduler.after(this.#random.gap(meanMs), () => {
      if (this.isOver) return
      action()
      this.#schedule(meanMs, action)
    })
  }

  planOf(tenant: string): string {
    return this.#plans.get(tenant) ?? (this.setting.plans[0] as string)
  }

  open(kind: string, isolate: string, subject: Call['subject']): Call {
    this.#calls += 1
    return {
      number: this.#calls,
      kind,
      isolate,
      subject,
      startedAt: this.scheduler.now,
      made: [],
      positions: new Map(),
      losses: this.#losses,
    }
  }

  /** @param waitMs The longest that it may have waited for a place. */
  decided(call: Call, decision: Decision, mostTrips: number, waitMs = 0): void {
    this.#decided += 1
    const { allowed, reason, source, degraded, retryAfterMs } = decision
    this.note(
      `${call.number} told ${JSON.stringify({ allowed, reason, source, degraded, retryAfterMs })}`,
    )
    this.callers.decided(call, decision, this.scheduler.now, this.#losses, mostTrips, waitMs)
  }

  reserved(call: Call, { id, charges }: ReservationData) {
    this.#lossesAt.set(id, this.#losses)
    this.callers.reservations.reserved(call, id, charges, this.#losses)
  }

  settled(id: string, applied: boolean, used: Readonly<Record<string, number>>): void {
    const times = (this.#settled.get(id) ?? 0) + (applied ? 1 : 0)
    this.#settled.set(id, times)
    this.callers.reservations.settled(
      id,
      applied,
      times,
      this.#lossesAt.get(id) !== this.#losses,
      used,
    )
  }

  answered(call: Call, response: Response, text: string, isGone: boolean): void {
    this.#decided += 1
    this.note(`${call.number} answered ${response.status} ${text.slice(0, 200)}`)
    this.callers.answered(call, response, text, isGone, this.scheduler.now)
  }

  /** Notes what a provider has billed for a call, to be compared at the end. */
  billed(call: Call, bills: readonly Bill[], status: number, isGone: boolean): void {
    this.note(`${call.number} billed ${JSON.stringify(bills)}`)
    this.#bills.push({ call, bills, status, isGone })
  }

  wait(process: Process, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.scheduler.after(ms, () => {
        if (!process.isDead) resolve()
      })
    })
  }

  note(line: string): void {
    this.#lines += 1
    const text = `${this.#lines} +${this.scheduler.now - this.setting.startMs} ${line}`
    this.#hash.update(text)
    if (this.#options.keepsTrace) this.trace.push(text)
  }

  /** The number of times that Redis has lost data. */
  get losses(): number {
    return this.#losses
  }

  /** True if limiters decide by the clock of their isolate. */
  get isRecorded(): boolean {
    return this.#options.record !== undefined
  }

  accuse(what: string): void {
    if (this.isRecorded) return
    this.note(`VIOLATION ${what}`)
    if (!this.#isConfused) this.violations.push(`event ${this.#lines}: ${what}`)
  }

  async #judgeTheEnd(): Promise<void> {
    const lasting = await this.redis.keysWithoutExpiry()
    // Settings stay until somebody changes them, and balances for good.
    const isBalance = (key: string): boolean => this.judge.balanceAt(sharedKey(key)) !== undefined
    const keys = lasting.filter((key) => !/:config:|:shards:/.test(key) && !isBalance(key))
    for (const key of keys) this.accuse(`${key} never expires`)
    this.payments.end(this.#losses)
    judgeBills(this.#bills, this.judge, this.setting, (what) => this.accuse(what))
    this.callers.reservations.end(this.judge.leasedUnits(this.callers.reservations.known))
  }
}
