/* A process of the app: an isolate that serves one deployment, and may die at any moment. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { act, CALLS, CREDIT_CALLS, WAITING_CALLS, type CallKind } from './callers.ts'
import { createIsolate, type Exports, type Isolate, type loadFactory } from './isolate.ts'
import type { Call } from './judges/caller-judge.ts'
import { makeLimiter, type Limiter } from './limiters.ts'
import type { Random } from './random.ts'
import { hasLines, hasPlaces } from './wrappers.ts'
import { hasCalendars, hasCredits, type Deployment } from './deployments.ts'
import type { World } from './world.ts'

/** The call on whose behalf a request is sent. */
const current = new AsyncLocalStorage<Call>()

/** The longest that a wall clock is off, in milliseconds. */
const SKEWS = [0, 40, 1_000, 5_000, 600_000]

/** Where periods have calendars, some are off by days: they know no end of the one that runs. */
const [DAYS_MS, DAYS_CHANCE] = [4 * 86_400_000, 0.1]

/** The place of a choice in its call, which the id of each but the first ends with. */
const positionOf = (id: string): number => Number(/C(\d+)$/.exec(id)?.[1] ?? 0)

export class Process {
  readonly name: string
  readonly region: 'r1' | 'r2'
  /** True if it was deployed after the databases have changed. */
  readonly isMoved: boolean
  readonly #world: World
  readonly #deployment: Deployment
  readonly #random: Random
  readonly #isolate: Isolate
  readonly #limiter: Limiter

  constructor(
    name: string,
    deployment: Deployment,
    world: World,
    create: Awaited<ReturnType<typeof loadFactory>>,
    random: Random,
  ) {
    this.name = name
    this.isMoved = world.haveMoved
    this.region = Number.parseInt(name.slice(1), 10) % 2 === 0 ? 'r1' : 'r2'
    this.#world = world
    this.#deployment = deployment
    this.#random = random
    const { setting, scheduler, redis, objects } = world
    const calls = new Map<string, Call>()
    const line = {
      name,
      rules: deployment.rules,
      isAlive: () => !this.#isolate.isDead,
      onDecided(id: string, isCharged: boolean) {
        const call = calls.get(id)
        call?.made.push({ id, isCharged })
        if (call && !isCharged) world.callers.notCharged(call, scheduler.now)
      },
    }
    const send = redis.fetchFor(line)
    const sentFor = (ids: readonly string[]): void => {
      const call = current.getStore()
      if (!call) return
      for (const [position, id] of ids.entries()) {
        calls.set(id, call)
        // Asked alone, after the others, it is still the same choice. A cache may have answered for those before it.
        const place = ids.length === 1 ? positionOf(id) : position
        if (!call.positions.has(id)) call.positions.set(id, place)
      }
    }
    this.#isolate = createIsolate(create, {
      scheduler,
      random: random.fork('isolate'),
      fetch: send,
      isServer: setting.hasServers,
      onGrowth: (entries) => world.callers.mapped(entries),
      log: (text) => {
        world.note(`${name} logs ${text}`)
        world.callers.text(text)
      },
    })
    this.setClock()
    this.#limiter = makeLimiter(
      this.#isolate,
      deployment,
      setting,
      {
        send,
        onSend: sentFor,
        namespace: objects?.namespaceFor({ ...line, onSend: sentFor }),
        region: this.region,
        isCut: () => world.cutOff === this.region,
        isMoved: this.isMoved,
      },
      {
        clock: world.isRecorded ? () => scheduler.now + this.#isolate.skewMs : undefined,
        planOf: async (tenant) => {
          await scheduler.wait(this.#random.gap(30))
          const fate = setting.weather.trouble > 0 ? this.#random.next() : 1
          if (fate < 0.05) throw new Error('the database is down')
          if (fate < 0.1) await scheduler.wait(86_400_000_000)
          // A process that has died meanwhile goes on with nothing.
          if (this.isDead) await new Promise<never>(() => {})
          return world.planOf(tenant)
        },
        problem: (code, message) => {
          world.note(`${name} problem ${code}: ${message}`)
          world.callers.text(message)
        },
      },
    )
  }

  get product(): Exports {
    return this.#isolate.product
  }

  get isDead(): boolean {
    return this.#isolate.isDead
  }

  /** Its wall clock. */
  get clock(): number {
    return this.#world.scheduler.now + this.#isolate.skewMs
  }

  kill(): void {
    this.#isolate.kill()
  }

  setClock(): void {
    const { weather, deployments } = this.#world.setting
    const isFar = weather.skew && hasCalendars(deployments) && this.#random.chance(DAYS_CHANCE)
    const most = isFar ? DAYS_MS : this.#random.pick(SKEWS)
    if (weather.skew) this.#isolate.skewMs = this.#random.whole(-most, most)
  }

  /** Serves calls until it dies, or the world ends. */
  start(): void {
    const { setting, scheduler } = this.#world
    const random = this.#random
    const next = (): void => {
      if (this.isDead || this.#world.isOver) return
      for (let count = random.whole(1, setting.burst); count > 0; count -= 1) this.#serve()
      // Now and then nobody calls for a while.
      const gapMs = random.chance(0.01)
        ? random.gap(setting.gapMs * 200)
        : random.gap(setting.gapMs)
      scheduler.after(gapMs, next)
    }
    scheduler.after(random.gap(setting.gapMs), next)
  }

  /** Adds up what leases serve, from decisions, which are not seen over HTTP. */
  #kindOf(kind: CallKind): CallKind {
    const { wrappers } = this.#world.setting
    if (!wrappers.includes('leased') && !hasPlaces(wrappers)) return kind
    if (kind === 'http') return 'check'
    return kind === 'model' ? 'reserve' : kind
  }

  #serve(): void {
    const world = this.#world
    const random = this.#random.fork('call')
    const calls = hasLines(world.setting.wrappers) ? WAITING_CALLS : CALLS
    const sells = hasCredits([this.#deployment])
    const kind = this.#kindOf(
      random.weighted<CallKind>(sells ? { ...calls, ...CREDIT_CALLS } : calls),
    )
    const tenant = random.chance(0.5)
      ? world.setting.tenants[0]!
      : random.pick(world.setting.tenants)
    const plan = world.setting.looksUpPlans ? {} : { plan: world.planOf(tenant) }
    const subject = { tenant, route: random.pick(world.setting.routes), ...plan }
    const call = world.open(kind, this.name, subject)
    world.note(`${call.number} ${this.name} ${kind} ${JSON.stringify(subject)}`)
    const run = (): void => {
      current.run(call, () => {
        void act(kind, {
          world,
          process: this,
          limiter: this.#limiter,
          rules: this.#deployment.rules,
          random,
          call,
          subject,
        })
      })
    }
    // How many turns a `Request` takes depends on the version of Node.
    if (kind === 'http' || kind === 'model') world.scheduler.after(0, run)
    else run()
  }
}
