/* One Redis behind the REST protocol: the embedded engine, in the world's time, on the world's network. */
import { createHash } from 'node:crypto'
import { CommandError } from '../../packages/local/dist/engines/engine.js'
import type { Engine, Reply } from '../../packages/local/dist/engines/engine.js'
import { startEmbedded } from '../../packages/local/dist/engines/embedded/engine.js'
import { withScriptFlag } from '../../packages/local/dist/engines/script-flag.js'
import { fateOf, FREEING, REFUSALS, type Condition, type Weather } from './faults.ts'
import type { WorldFetch } from './isolate.ts'
import { deliver } from './deliver.ts'
import type { Rule } from './judges/rules.ts'
import {
  hasMark,
  kindOf,
  readDecision,
  readGrant,
  readMark,
  readSettlement,
  splitCall,
} from './judges/script-calls.ts'
import { ServerJudge } from './judges/server-judge.ts'
import type { Ledger } from './judges/server-ledger.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** A caller of the network: who it is, and the policies of the limiter that calls. */
export interface Line {
  readonly name: string
  readonly rules: readonly Rule[]
  readonly isAlive: () => boolean
  /** Called for each decision that Redis makes. */
  readonly onDecided: (id: string, isCharged: boolean) => void
}

/** Receives events, and what a judge finds. */
export interface Observer {
  note(line: string): void
  accuse(what: string): void
}

/** The parts of the world that a Redis is in. */
interface Surroundings {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly weather: Weather
  readonly observer: Observer
  /** Receives each command with its reply. Time then stands still for keys. */
  readonly record?: ((command: readonly string[], reply: unknown) => void) | undefined
}

type Embedded = Awaited<ReturnType<typeof startEmbedded>>

/** A state of Redis and of the judge's ledger. */
interface Copy {
  readonly keys: ReturnType<Embedded['snapshot']>
  readonly ledger: Ledger
}

export class SimulatedRedis {
  condition: Condition = 'up'
  readonly judge: ServerJudge
  /** Requests that arrived. */
  requests = 0
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #weather: Weather
  readonly #observer: Observer
  readonly #record: Surroundings['record']
  readonly #embedded: Embedded
  readonly #engine: Engine
  readonly #texts = new Map<string, string>()
  /** Balances as they are stored. */
  readonly #balances = new Map<string, string>()
  #replica: Copy | undefined

  private constructor(embedded: Embedded, isUpstash: boolean, world: Surroundings) {
    this.#embedded = embedded
    this.#engine = isUpstash ? withScriptFlag(embedded) : embedded
    this.#scheduler = world.scheduler
    this.#random = world.random
    this.#weather = world.weather
    this.#observer = world.observer
    this.#record = world.record
    this.judge = new ServerJudge((what) => world.observer.accuse(what))
  }

  static async start(isUpstash: boolean, world: Surroundings): Promise<SimulatedRedis> {
    let redis: SimulatedRedis | undefined
    const startedAt = world.scheduler.now
    const embedded = await startEmbedded({
      now: () => (world.record ? startedAt : world.scheduler.now),
      // A script of ours takes microseconds. Only a busy machine could make one seem long.
      budget: { ms: 120_000 },
      refuse: (name, isWrite) => redis?.refusalOf(name.toUpperCase(), isWrite),
    })
    redis = new SimulatedRedis(embedded, isUpstash, world)
    return redis
  }

  refusalOf(name: string, isWrite: boolean): string | undefined {
    if (!isWrite) return undefined
    if (this.condition === 'read only') return REFUSALS['read only']
    return this.condition === 'full' && !FREEING.has(name) ? REFUSALS.full : undefined
  }

  /** A `fetch` for one caller, through the network. */
  fetchFor(line: Line): WorldFetch {
    return (url, init) =>
      new Promise((resolve, reject) => {
        const body = init.body as string
        const isPipeline = url.endsWith('/pipeline')
        const { upMs, arrives, downMs, answer } = fateOf(this.#random, this.#weather)
        const abort = (): void => reject(new Error('aborted'))
        if (init.signal?.aborted) {
          abort()
          return
        }
        init.signal?.addEventListener('abort', abort)
        this.#scheduler.after(upMs, () => {
          void this.#arrive(body, isPipeline, arrives, line).then(({ text, status }) => {
            this.#scheduler.after(downMs, () => {
              if (!line.isAlive()) return
              deliver(this.condition === 'down' && arrives ? 'broken' : answer, text, status, {
                resolve,
                reject,
              })
            })
          })
        })
      })
  }

  async #arrive(body: string, isPipeline: boolean, arrives: boolean, line: Line) {
    if (!arrives || this.condition === 'down') return { text: '', status: 503 }
    this.requests += 1
    const parsed = JSON.parse(body) as unknown[]
    const commands = (isPipeline ? parsed : [parsed]) as (string | number)[][]
    const replies: unknown[] = []
    for (const command of commands) replies.push(await this.#run(command.map(String), line))
    const answers = replies.map((reply) => (isErrorReply(reply) ? reply : { result: reply }))
    const [only] = replies
    return {
      text: JSON.stringify(isPipeline ? answers : answers[0]),
      status: !isPipeline && isErrorReply(only) ? 400 : 200,
    }
  }

  /** Runs a command now, and has it judged. */
  async #run(command: readonly string[], line: Line): Promise<unknown> {
    if (this.condition === 'loading') return { error: REFUSALS.loading }
    const [name = '', ...args] = command
    const reply = valueOf(await this.#engine.execute([name, ...args]))
    this.#observer.note(`  redis ${line.name} ${describe(command)} -> ${JSON.stringify(reply)}`)
    if (this.#record) this.#record(command, reply)
    else await this.#judge(command, reply, line)
    return reply
  }

  async #judge(
    command: readonly string[],
    reply: unknown,
    { rules, onDecided }: Line,
  ): Promise<void> {
    const [name = '', first = '', countText = '0', ...rest] = command
    // A script that has failed is known all the same.
    if (name === 'EVAL') this.#texts.set(createHash('sha1').update(first).digest('hex'), first)
    if (isErrorReply(reply)) return
    if (name === 'DEL') this.judge.reset(command.slice(1).map(sharedKey))
    if (name !== 'EVAL' && name !== 'EVALSHA') return
    const text = name === 'EVAL' ? first : (this.#texts.get(first) ?? '')
    const [keys, args] = [rest.slice(0, Number(countText)), rest.slice(Number(countText))]
    const kind = kindOf(text)
    if (kind === 'decision' && Array.isArray(reply)) {
      const made = await this.#judgeDecision(rules, keys, args, reply, hasMark(text))
      onDecided(...made)
      await this.#watchBalances(keys, made[1])
      return
    }
    if (kind === 'decisions' && Array.isArray(reply)) {
      let [isFull, isCharged] = [false, false]
      for (const [index, call] of splitCall(keys, args).entries()) {
        const answer: unknown = reply[index]
        // A full Redis has not written what it would have charged, which the next denials count.
        if (!Array.isArray(answer)) isFull = true
        if (!Array.isArray(answer) || (isFull && !hasCharged(answer))) continue
        const made = await this.#judgeDecision(rules, call.keys, call.args, answer, hasMark(text))
        onDecided(...made)
        isCharged ||= made[1]
      }
      await this.#watchBalances(keys, isCharged)
    }
    const { now } = this.#scheduler
    const [key, ticket] = [sharedKey(keys[0] ?? ''), args[2] ?? '']
    if (kind === 'stand' && Array.isArray(reply)) this.judge.lines.stood(key, ticket, reply, now)
    if (kind === 'leave') this.judge.lines.left(key, ticket)
    const credits = rules.find((rule) => rule.kind === 'credits')
    if (kind === 'grant' && Array.isArray(reply) && credits) {
      this.judge.granted(readGrant([key], args, reply), credits, now)
    }
    if (kind === 'settlement') {
      this.judge.settled(
        readSettlement(keys.map(sharedKey), args, reply, rules),
        this.#scheduler.now,
      )
    }
    if (kind !== 'decisions') await this.#watchBalances(keys, true)
  }

  /** Holds balances to what was stored before: a denial has written nothing, and nothing lets one expire. */
  async #watchBalances(keys: readonly string[], mayWrite: boolean): Promise<void> {
    for (const key of keys.filter((one) => this.judge.balanceAt(sharedKey(one)))) {
      const stored = valueOf(await this.#embedded.execute(['HGETALL', key]))
      // A fence is left where a balance has moved away.
      if (isErrorReply(stored)) {
        this.#balances.delete(key)
        continue
      }
      const lasts = valueOf(await this.#embedded.execute(['PTTL', key]))
      const text = JSON.stringify([stored, lasts])
      const before = this.#balances.get(key) ?? text
      if (!mayWrite && before !== text) this.#observer.accuse(`a denial has written ${key}`)
      if (Number(lasts) >= 0) this.#observer.accuse(`${key} expires, and is a balance`)
      this.#balances.set(key, text)
    }
  }

  async #judgeDecision(
    rules: readonly Rule[],
    keys: readonly string[],
    args: readonly string[],
    reply: readonly unknown[],
    isMarked: boolean,
  ): Promise<[id: string, isCharged: boolean]> {
    const decided = readDecision(rules, keys, args, reply, isMarked)
    const noted = decided.mark && valueOf(await this.#embedded.execute(['GET', decided.mark]))
    const charges = decided.mark === undefined ? undefined : readMark((noted ?? '') as string)
    const rows = decided.rows.map((row) => ({ ...row, key: sharedKey(row.key) }))
    this.judge.decided({ ...decided, rows }, charges, this.#scheduler.now)
    return [decided.id, decided.rows.some(({ charged }) => charged)]
  }

  /** Restarts it: with its data, or without. */
  restart(keepsData: boolean): void {
    this.#flushScripts()
    this.#balances.clear()
    if (keepsData) return
    this.#embedded.restore(new Map())
    this.judge.restore({ counts: new Map(), held: new Map() })
  }

  flushScripts(): void {
    this.#flushScripts()
  }

  #flushScripts(): void {
    void this.#engine.execute(['SCRIPT', 'FLUSH'])
  }

  /** Copies everything to the replica. */
  replicate(): void {
    this.#replica = { keys: this.#embedded.snapshot(), ledger: this.judge.snapshot() }
  }

  /** Makes the replica, which lags, the master. Returns false if there is none. */
  failOver(): boolean {
    if (this.#replica === undefined) return false
    this.#embedded.restore(this.#replica.keys)
    this.judge.restore(this.#replica.ledger)
    this.#balances.clear()
    this.#flushScripts()
    return true
  }

  /** Returns the keys that never expire. */
  async keysWithoutExpiry(): Promise<string[]> {
    const keys = valueOf(await this.#embedded.execute(['KEYS', '*'])) as string[]
    const found: string[] = []
    for (const key of keys) {
      if (valueOf(await this.#embedded.execute(['PTTL', key])) === -1) found.push(key)
    }
    return found
  }
}

/** True if a decision has charged any of its policies: each has four numbers after the time. */
const hasCharged = (reply: readonly unknown[]): boolean =>
  reply.some((state, at) => at % 4 === 1 && Number(state) > 1)

const isErrorReply = (reply: unknown): boolean =>
  typeof reply === 'object' && reply !== null && 'error' in reply

/** A reply as JSON has it. */
function valueOf(reply: Reply): unknown {
  if (reply instanceof CommandError) return { error: reply.message }
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (Array.isArray(reply)) return (reply as readonly Reply[]).map(valueOf)
  return reply
}

const describe = ([name = '', first = '', ...rest]: readonly string[]): string =>
  name === 'EVAL'
    ? `EVAL (${first.length}) ${rest.join(' ')}`
    : [name, first.slice(0, 8), ...rest].join(' ')

/**
 * Returns a key without its database: a tenant is counted in one of them, so a judge sees one count. Regions count by
 * themselves.
 */
export const sharedKey = (key: string): string => key.replace(/^([abc]|home):/, 'sluice:')
