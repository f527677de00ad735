/* Durable Objects in the world's time, on the world's network: the shipped code in an isolate for each, and rows that outlive it. */
import type { StoreReply, StoreRequest } from '@sluice/core'
import { fateOf, type Condition, type Weather } from './faults.ts'
import { createIsolate, type Isolate, type loadFactory } from './isolate.ts'
import type { Rule } from './judges/rules.ts'
import type { GrantCall } from './judges/balances.ts'
import type { SettledCall } from './judges/script-calls.ts'
import { ServerJudge } from './judges/server-judge.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { Line, Observer } from './simulated-redis.ts'

/** The parts of the world that objects are in. */
interface Surroundings {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly weather: Weather
  readonly observer: Observer
  readonly create: Awaited<ReturnType<typeof loadFactory>>
  /** The policies of every deployment. */
  readonly rules: readonly Rule[]
}

/** An object that is in memory. */
interface Awake {
  readonly isolate: Isolate
  readonly call: (message: string) => unknown
}

/** A caller of objects: an isolate, or another object. */
export interface ObjectsLine extends Pick<Line, 'name' | 'isAlive'> {
  /** Called with the id of each decision that is asked for, of choices with all of them, … */
  readonly onSend?: (ids: readonly string[]) => void
  /** … and when it is made. */
  readonly onDecided?: Line['onDecided']
}

/** Returns the ids of the decisions that a message asks for: of choices, one is charged at most. */
function idsOf(message: string): string[] {
  const { check } = JSON.parse(message) as { check?: Asked }
  return check ? (check.alternatives?.all ?? [check]).map(({ id }) => id) : []
}

interface Asked {
  readonly id: string
  readonly alternatives?: { readonly all: readonly { readonly id: string }[] }
}

/** The rows of an object, as SQLite keeps them. */
type Rows = Map<number, string>

/** A binding as `durableObjects` uses it. */
interface WorldNamespace {
  idFromName(name: string): string
  get(name: string): { sluice(message: string): Promise<unknown> }
}

interface Corrections {
  readonly id: string
  readonly isRelease: boolean
  readonly clockIsInjected: boolean
  readonly corrections: readonly { key: string; markIndex: number; actual: number }[]
}

export class SimulatedObjects {
  condition: Condition = 'up'
  readonly judge: ServerJudge
  readonly #world: Surroundings
  readonly #stored = new Map<string, Rows>()
  readonly #awake = new Map<string, Awake>()
  #started = 0

  constructor(world: Surroundings) {
    this.#world = world
    this.judge = new ServerJudge((what) => world.observer.accuse(what))
  }

  /** Returns the binding for one caller, through the network. */
  namespaceFor(line: ObjectsLine): WorldNamespace {
    const { scheduler, random, weather } = this.#world
    return {
      idFromName: (name) => name,
      get: (name) => ({
        sluice: (message) =>
          new Promise((resolve, reject) => {
            const ids = idsOf(message)
            if (ids.length > 0) line.onSend?.(ids)
            const { upMs, arrives, downMs, answer } = fateOf(random, weather)
            scheduler.after(upMs, () => {
              void this.#arrive(name, message, arrives, line).then((outcome) => {
                scheduler.after(downMs, () => {
                  if (!line.isAlive() || answer === 'nothing') return
                  if (answer === 'reply' && outcome.value) resolve(outcome.value)
                  else reject(new Error('Network connection lost.'))
                })
              })
            })
          }),
      }),
    }
  }

  async #arrive(
    name: string,
    message: string,
    arrives: boolean,
    line: ObjectsLine,
  ): Promise<{ value?: unknown }> {
    if (!arrives || this.condition === 'down') return {}
    const { observer } = this.#world
    const object = this.#wake(name)
    try {
      const value = await object.call(message)
      observer.note(`  ${name} ${line.name} ${message} -> ${JSON.stringify(value)}`)
      const { reply } = value as { reply?: StoreReply }
      const ids = idsOf(message)
      for (const [at, verdicts] of (reply?.tried ?? (reply ? [reply.verdicts] : [])).entries()) {
        const isCharged = verdicts.some(({ charged }) => charged)
        line.onDecided?.(ids[at] ?? '', isCharged)
      }
      return object.isolate.isDead ? {} : { value: structuredClone(value) }
    } catch (error) {
      observer.accuse(`${name} threw ${String(error)}`)
      this.#awake.delete(name)
      return {}
    }
  }

  #wake(name: string): Awake {
    const known = this.#awake.get(name)
    if (known) return known
    const { scheduler, random, observer, create } = this.#world
    this.#started += 1
    const isolate = createIsolate(create, {
      scheduler,
      random: random.fork(`object ${this.#started}`),
      fetch: () => Promise.reject(new Error('an object fetches nothing')),
      isServer: false,
      // An object holds what it counts.
      onGrowth: () => {},
      log: (text) => observer.note(`${name} logs ${text}`),
    })
    const { ObjectJournal, Place, durableObjects, objectChoices, objectLeases } =
      isolate.product.objects
    const { PlaceStates, kindsOf } = isolate.product.journal
    const { calendarAlgorithm, credits } = isolate.product
    const kinds = kindsOf({
      algorithms: [calendarAlgorithm, credits.creditAlgorithm],
      operations: credits.creditOperations,
    })
    const rows = this.#stored.get(name) ?? new Map<number, string>()
    this.#stored.set(name, rows)
    const states = new PlaceStates(new ObjectJournal(storageOf(rows)), kinds)
    const call = states.call.bind(states)
    states.call = (given, message) => this.#judged(given, message, call)
    const isAlive = (): boolean => !isolate.isDead
    const home = () => {
      const namespace = this.namespaceFor({ name, isAlive })
      return durableObjects(namespace as never, { shardBy: 'global', timeoutMs: 500 })
    }
    const parts = { leases: objectLeases, choices: objectChoices }
    const place = new Place({ name, states, kinds, ...parts, home })
    const awake = { isolate, call: (message: string) => place.call(message) }
    this.#awake.set(name, awake)
    return awake
  }

  /** Makes a call at once, and has it judged. */
  #judged<Call extends object, Answer>(
    given: Call,
    message: () => string,
    call: (given: Call, message: () => string) => Answer,
  ): Answer {
    const { check, run, reset } = given as {
      check?: StoreRequest
      run?: { kind: { name: string }; keys: readonly string[]; data: unknown }
      reset?: readonly string[]
    }
    let charges: Map<number, number> | undefined
    const marked = check?.mark && {
      ...check.mark,
      kind: {
        ...check.mark.kind,
        write(...args: Parameters<NonNullable<StoreRequest['mark']>['kind']['write']>) {
          charges = new Map(args[2].map(({ index, units }) => [index, units]))
          check.mark?.kind.write(check.mark, args[1], args[2], args[3])
        },
      },
    }
    const answer = call(marked ? { ...given, check: { ...check, mark: marked } } : given, message)
    const { reply, result } = answer as { reply?: StoreReply; result?: unknown }
    const now = this.#world.scheduler.now
    if (check && reply) this.#judgeDecision(check, reply, charges)
    if (run?.kind.name === 'settle' && 'result' in (answer as object)) {
      this.judge.settled(settledCall(run.data as Corrections, result), now)
    }
    const credits = this.#world.rules.find((rule) => rule.kind === 'credits')
    if (run?.kind.name === 'credits grant' && result && credits) {
      const key = run.keys[0] ?? ''
      const { id, units, at } = run.data as GrantCall
      this.judge.granted({ ...(result as GrantCall), key, id, units, at }, credits, now)
    }
    if (reset) this.judge.reset(reset)
    return answer
  }

  #judgeDecision(
    { id, apply, entries, mark, reads }: StoreRequest,
    reply: StoreReply,
    charges: ReadonlyMap<number, number> | undefined,
  ): void {
    const rules: Rule[] = []
    const rows = entries.map((entry, at) => {
      const { policy, index, key, enforced, limit, burst, cost } = entry
      const ends = endsOf(entry)
      const rule = this.#ruleOf(policy.name, ends.length > 0)
      rules[index] = rule
      const { fits, charged, available, retryMs } = reply.verdicts[at] as StoreReply['verdicts'][0]
      const { hold: holdMs } = entry as unknown as { hold?: number }
      const told = { fits, charged, available, retryMs, ...(holdMs !== undefined && { holdMs }) }
      return { index, rule, key, enforced, limit, burst, cost, ...told, ends }
    })
    const noted = mark && (charges ?? new Map<number, number>())
    const isOverrun = rows.every(({ rule, cost, limit }) => rule.leaseMs > 0 && cost + limit === 1)
    const isOutdated = reads.some(
      ({ is }, at) => is !== undefined && is !== (reply.values[at] ?? ''),
    )
    const known = { rows, rules, isOverrun, isOutdated, mark: mark?.keys.at(-1) }
    const decided = { id, now: reply.now, apply, ...known }
    this.judge.decided(decided, noted, this.#world.scheduler.now)
  }

  /** Returns the policy of who asks: of apps that run beside each other, some may have a calendar. */
  #ruleOf(policy: string, hasCalendar: boolean): Rule {
    const named = this.#world.rules.filter(({ name }) => name === policy)
    return (named.find(({ calendar }) => (calendar !== undefined) === hasCalendar) ?? named[0])!
  }

  /** Ends an object: what it has not stored has not happened. */
  kill(name: string): void {
    this.#awake.get(name)?.isolate.kill()
    this.#awake.delete(name)
  }

  /** Ends one of them, or all. */
  strike(random: Random, note: (line: string) => void): void {
    if (this.condition !== 'up') return
    const kind = random.weighted({ down: 1, 'an object dies': 6, 'home dies': 2, 'all die': 1 })
    note(`objects: ${kind}`)
    if (kind === 'down') {
      this.condition = 'down'
      this.#world.scheduler.after(random.gap(1_000), () => {
        note('objects: up')
        this.condition = 'up'
      })
    }
    const names = [...this.#awake.keys()]
    if (kind === 'an object dies' && names.length > 0) this.kill(random.pick(names))
    if (kind === 'home dies') this.kill('home')
    if (kind === 'all die') for (const name of names) this.kill(name)
  }
}

/** SQLite as far as a journal uses it. */
const storageOf = (rows: Rows) => ({
  exec(query: string, ...[id, data]: (string | number)[]) {
    if (query.startsWith('INSERT')) rows.set(Number(id), String(data))
    const found = query.startsWith('SELECT name')
      ? rows.size > 0
        ? [{ name: id }]
        : []
      : Array.from(rows, ([key, text]) => ({ id: key, data: text })).toSorted((a, b) => a.id - b.id)
    return { toArray: () => found as Record<string, unknown>[] }
  },
})

/** Returns the ends that an entry of a calendar names. */
const endsOf = (entry: object): number[] => {
  const { since, finish, following } = entry as Record<string, number | undefined>
  return [since, finish, following].filter((end) => end !== undefined)
}

function settledCall({ id, isRelease, corrections }: Corrections, result: unknown): SettledCall {
  const made = result as { applied?: readonly number[]; wasReleased?: boolean } | undefined
  const call = { id, isRelease, isOwnClock: true, wasReleased: made?.wasReleased === true }
  if (!made?.applied) return { ...call, corrections: undefined }
  return {
    ...call,
    corrections: corrections.map((correction, at) => {
      const { key, markIndex, actual } = correction
      const ends = endsOf(correction)
      return { key, markIndex, actual, applied: made.applied?.[at] ?? 0, ends }
    }),
  }
}
