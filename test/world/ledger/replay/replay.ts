import type { Subject } from '@sluice/core'
import type { LeasedStore } from '@sluice/core/leases'
import type { Reservation } from '@sluice/core/reservations'
import type { Call, State, World } from '../model/state.ts'
import { describeStep, type Move } from '../model/steps.ts'
import type { Backend } from './backends.ts'
import { Network, Process } from './network.ts'
import {
  cancelCall,
  checkUnit,
  createIsolate,
  createMeter,
  reserveUnits,
  resetTenant,
  WAIT_MS,
  settleUnits,
  sweep,
  WINDOW_MS,
  type Algorithm,
  type Isolate,
} from './product.ts'

const DAY = 86_400_000

/** The time of isolates and of the store, in epoch ms. */
export interface ReplayClock {
  now: number
}

/** An isolate of the path, and its one call. */
interface Actor {
  process: Process
  isolate: Isolate
  call: Reservation | undefined
  /** The key of the mark of its call. */
  mark: string
}

const isOpenList = ([key = '']: readonly string[]): boolean => /^(?:p:)?open:/.test(key)
const isMark = ([key = '']: readonly string[]): boolean => /^(?:p:)?hold:/.test(key)
const isDecision = (keys: readonly string[]): boolean => !isOpenList(keys) && !isMark(keys)

/** Lives through paths of the model with the product. */
export class Replay {
  readonly #clock: ReplayClock
  #paths = 0
  readonly #world: World
  readonly #algorithm: Algorithm
  readonly #backend: Backend
  #network = new Network()
  #actors: Actor[] = []
  #meter: (subject: Subject) => Promise<number> = async () => 0

  constructor(world: World, algorithm: Algorithm, backend: Backend, clock: ReplayClock) {
    this.#world = world
    this.#algorithm = algorithm
    this.#backend = backend
    this.#clock = clock
  }

  /** Takes the steps of a path from the first state, and describes the first difference from the model. */
  async differenceIn(first: State, path: readonly Move[]): Promise<string | undefined> {
    this.#begin()
    let before = first
    for (const [index, move] of path.entries()) {
      const differs = await this.#step(before, move).catch((error: unknown) => String(error))
      if (differs) {
        const steps = path.slice(0, index + 1).map(describeStep)
        return [...steps, differs].join('\n')
      }
      before = move.next
    }
    return undefined
  }

  #begin(): void {
    this.#paths += 1
    this.#network = new Network()
    const store = this.#backend.store(this.#network)
    this.#meter = createMeter(this.#world, this.#algorithm, store)
    this.#clock.now += DAY - (this.#clock.now % DAY)
    this.#actors = Array.from({ length: this.#world.isolates }, () => this.#newActor())
  }

  #newActor(): Actor {
    const process = new Process()
    const store = this.#backend.store(this.#network)
    const isolate = createIsolate(this.#world, this.#algorithm, store)
    return { process, isolate, call: undefined, mark: '' }
  }

  async #step(before: State, move: Move): Promise<string | undefined> {
    const { step, told, next } = move
    await this.#act(before, move)
    const actor = this.#actors[step.isolate]
    const answer = actor?.process.told ?? ''
    if (actor) actor.process.told = ''
    if (answer !== told) return `the product says "${answer}", the model "${told}"`
    for (const [index, { used }] of next.tenants.entries()) {
      const held = await this.#meter(this.#subject(index, next))
      if (held !== used) return `the product holds ${held} units, the model ${used}`
    }
    for (const [index, { process }] of this.#actors.entries()) {
      const expected = tripsOf(next, index) - process.pauses.length
      const waiting = await this.#network.waitingFor(process, expected)
      if (waiting !== expected)
        return `the product waits for ${waiting} replies, the model ${expected}`
    }
    return undefined
  }

  #subject(tenant: number, { tenants }: State): Subject {
    return {
      tenant: `t${this.#paths}-${tenant}`,
      plan: tenants[tenant]?.isLowered ? 'small' : 'large',
    }
  }

  /** Begins a call of the product in an isolate. Its answer is told when it comes. */
  #start(actor: Actor, work: () => Promise<string>): void {
    const { process } = actor
    this.#network.run(process, async () => {
      process.told = await work().catch((error: unknown) => String(error))
    })
  }

  async #act(before: State, { step, told }: Move): Promise<void> {
    const { kind, trip, isolate, units, unsettled = 'keep' } = step
    if (kind === 'wait') {
      this.#clock.now += WAIT_MS
      return
    }
    if (kind === 'end window') {
      // By a whole one more, so that whatever is open is due.
      this.#clock.now += 2 * WINDOW_MS - (this.#clock.now % WINDOW_MS)
      return
    }
    if (kind === 'change plan' || kind === 'forget') return
    const actor = this.#actors[isolate] as Actor
    const {
      process,
      isolate: { limiter, store },
    } = actor
    const subject = this.#subject(step.tenant, before)
    const own = ([key]: readonly string[]): boolean => key === actor.mark
    const deliver = (matches: (keys: readonly string[]) => boolean, fate = trip) =>
      this.#network.deliver(process, matches, fate)
    switch (kind) {
      case 'reserve':
        this.#start(actor, async () => {
          const decision = await reserveUnits(limiter, subject, units, unsettled)
          if (decision.allowed) actor.call = decision
          if (decision.allowed) return 'allowed'
          return decision.reason === 'store_unavailable' ? 'unavailable' : 'denied'
        })
        actor.mark = (await deliver(isDecision)).at(-1) ?? ''
        return
      case 'ask again':
        actor.mark = (await deliver(isDecision)).at(-1) ?? ''
        return
      case 'sweep':
        this.#start(actor, () => sweep(limiter, subject))
        await deliver(isDecision, 'arrives')
        return
      case 'find':
        await deliver(isOpenList)
        return
      case 'release': {
        const target = this.#actors[step.target as number] as Actor
        await deliver(([key]) => key === target.mark)
        return
      }
      case 'settle':
      case 'repeat':
        this.#start(actor, () => settleUnits(actor.call as Reservation, units))
        await deliver(own)
        return
      case 'cancel':
        this.#start(actor, () => cancelCall(actor.call as Reservation))
        await deliver(own)
        return
      case 'retry':
        this.#start(actor, () => settleUnits(actor.call as Reservation, units))
        await deliver(own)
        return
      case 'cancel in the background':
        for (const end of process.pauses.splice(0)) this.#network.run(process, async () => end())
        await deliver(own)
        return
      case 'check':
        this.#start(actor, () => checkUnit(limiter, subject))
        // A lease that serves makes no trip.
        if (told === 'leased') await this.#network.goOn()
        else await deliver(isDecision)
        return
      case 'return':
        await deliver(isMark)
        return
      case 'shut down':
        this.#start(actor, async () => {
          await (store as LeasedStore).returnUnits()
          return ''
        })
        await this.#network.goOn()
        return
      case 'reset': {
        // Beside whatever the isolate waits for.
        const operator = { ...actor, process: new Process() }
        this.#start(operator, () => resetTenant(limiter, subject))
        await this.#network.deliver(operator.process, () => true, trip)
        process.told = operator.process.told
        return
      }
      case 'die': {
        const { mark } = actor
        this.#network.kill(process)
        this.#actors[isolate] = { ...this.#newActor(), mark }
      }
    }
  }
}

/** The round trips that an isolate waits for. */
function tripsOf({ calls, holdings }: State, index: number): number {
  const { place = 'idle', targets = 0 }: Partial<Call> = calls[index] ?? {}
  const returns = holdings[index]?.returning ? 1 : 0
  if (place === 'releasing') return returns + targets.toString(2).replaceAll('0', '').length
  return returns + (['cancelling', 'finding', 'asking again'].includes(place) ? 1 : 0)
}
