/* The state of a queue in memory. It must decide as the scripts in `lua.ts` do. */
import type {
  Added,
  AddRequest,
  ClaimedJob,
  EditRequest,
  Look,
  LookRequest,
  Result,
  Taken,
  Turn,
  TurnRequest,
  UnsettledJob,
  Why,
} from './requests.ts'
import { deadEntry, MAX_DUE } from './requests.ts'
import { Lines, type Line } from './lines.ts'
import { Sorted } from './sorted.ts'

/** Where a job is: waiting; waiting because its worker was lost; running; run, and not settled; until later; among the dead; nowhere. */
type Where = 'waiting' | 'abandoned' | 'running' | 'unsettled' | 'later' | 'dead' | 'nowhere'

interface Job {
  readonly id: string
  readonly flow: string
  readonly length: number
  /** Sorts the jobs of a flow. */
  readonly rank: string
  readonly payload: string
  where: Where
  claims: number
  attempts: number
  lostFrom: number
  deadline: number
  /** The data of a reservation; of a job that has run, what there is to settle; of a dead job, why it died. */
  rest: string
}

export class QueueModel {
  #sequence = 0
  #pausedUntil = 0
  #keepDeadMs = 0
  readonly #jobs = new Map<string, Job>()
  /**
   * By a word and a name: the end of a job's place or of a line's rest, or of all that is known of either. The words sort as
   * the letters that Redis keeps, so that timers of one time ring in the same order.
   */
  readonly #timers = new Sorted()
  readonly #lines = new Lines(this.#timers)
  readonly #dead = new Sorted()
  #died: string[] = []
  #unsettled: UnsettledJob[] = []
  #now = 0

  add({ jobs, maxJobs, now }: AddRequest): Added[] {
    this.#now = now
    return jobs.map(({ id, flow, length, priority, delayMs, waitMs, payload }) => {
      if (this.#jobs.has(id)) return 'known'
      if (this.#jobs.size >= maxJobs) return 'full'
      this.#sequence += 1
      const rank = `${priority}${String(this.#sequence).padStart(15, '0')}`
      const deadline = waitMs > 0 ? now + waitMs : 0
      const job: Job = {
        id,
        flow,
        length,
        rank,
        payload,
        deadline,
        where: 'nowhere',
        claims: 0,
        attempts: 0,
        lostFrom: 1,
        rest: '',
      }
      this.#jobs.set(id, job)
      if (delayMs > 0) this.#keep(job, 'later', delayMs)
      else this.#wait(job, 'waiting')
      if (deadline > 0) this.#timers.set(`waited_too_long|${id}`, deadline)
      return 'added'
    })
  }

  turn({ results, most, leaseMs, maxAttempts, keepDeadMs, now }: TurnRequest): Turn {
    this.#now = now
    this.#keepDeadMs = keepDeadMs
    this.#died = []
    this.#unsettled = []
    const taken = results.map((result) => this.#take(result, leaseMs, maxAttempts))
    for (const [at, member] of this.#timers.slice(0, MAX_DUE)) {
      // One that rang before may have changed it.
      if (at <= now && this.#timers.scoreOf(member) === at) this.#ring(member, leaseMs, maxAttempts)
    }
    const claimed: ClaimedJob[] = []
    const open = this.#pausedUntil > now ? 0 : most
    for (let line = this.#lines.next; line && claimed.length < open; line = this.#lines.next) {
      const job = this.#claim(line, leaseMs)
      if (job) claimed.push(job)
    }
    let nextAt = this.#timers.first?.[0] ?? Infinity
    if (this.#pausedUntil > now) nextAt = Math.min(nextAt, this.#pausedUntil)
    return { now, nextAt, taken, claimed, unsettled: this.#unsettled, died: this.#died }
  }

  look({ from, count, now }: LookRequest): Look {
    this.#now = now
    const inPlaces = (...places: Where[]): Job[] =>
      [...this.#jobs.values()].filter(({ where }) => places.includes(where))
    const waiting = inPlaces('waiting', 'abandoned')
    // The first digit of a rank is the priority.
    const [oldest] = waiting.toSorted((a, b) => (a.rank.slice(1) < b.rank.slice(1) ? -1 : 1))
    const entries = this.#dead.slice(from, from + count).map(([diedAt, id]) => {
      const { attempts, rest, payload } = this.#jobs.get(id) as Job
      return deadEntry(id, diedAt, attempts, rest, payload)
    })
    return {
      waiting: waiting.length,
      delayed: inPlaces('later').length,
      running: inPlaces('running', 'unsettled').length,
      dead: this.#dead.size,
      oldest: oldest?.payload ?? '',
      entries,
    }
  }

  edit({ kind, ids, now }: EditRequest): number {
    this.#now = now
    let edited = 0
    for (const id of ids) {
      const job = this.#jobs.get(id)
      if (!job) continue
      if (kind === 'retry' && job.where === 'dead') {
        this.#leave(job)
        Object.assign(job, { attempts: 0, deadline: 0, lostFrom: job.claims + 1, rest: '' })
        this.#wait(job, 'waiting')
        edited += 1
      } else if (kind === 'remove' && !['running', 'unsettled'].includes(job.where)) {
        this.#remove(job)
        edited += 1
      }
    }
    return edited
  }

  #take(result: Result, leaseMs: number, maxAttempts: number): Taken {
    const job = this.#jobs.get(result.id)
    if (!job) return 'gone'
    if (job.claims !== result.claim) return 'lost'
    if (job.where === 'unsettled') {
      if (result.kind === 'settled') {
        this.#remove(job)
        // Others may wait for the units that it has given back.
        this.#pausedUntil = Math.min(this.#pausedUntil, this.#now)
        this.#lines.unpark(this.#lines.of(job.flow))
      }
      return 'taken'
    }
    const isHeld = job.where === 'running' || job.where === 'abandoned'
    if (!isHeld || result.kind === 'settled') return 'gone'
    this.#leave(job)
    if (result.kind === 'done') {
      this.#withdraw(job)
      Object.assign(job, { deadline: 0, rest: result.settlement })
      this.#keep(job, 'unsettled', leaseMs)
    } else if (result.kind === 'running') {
      this.#keep(job, 'running', leaseMs)
    } else if (result.kind === 'failed') {
      const { delayMs, isFinal, held, error } = result
      Object.assign(job, { lostFrom: job.claims + 1, rest: held })
      if (isFinal || job.attempts >= maxAttempts) this.#die(job, 'failed', error)
      else this.#keep(job, 'later', delayMs)
    } else {
      this.#giveBack(job, result)
    }
    return 'taken'
  }

  #giveBack(job: Job, { who, delayMs, isClean, held }: Extract<Result, { kind: 'back' }>): void {
    const line = this.#lines.of(job.flow)
    job.attempts -= 1
    if (isClean) job.lostFrom = job.claims + 1
    if (held !== '') job.rest = held
    this.#lines.moveBack(line, job.length)
    this.#return(job, 'waiting')
    if (who === 'flow') this.#lines.park(line, this.#now + delayMs)
    else if (who === 'queue') {
      this.#pausedUntil = Math.max(this.#pausedUntil, this.#now + delayMs)
    }
  }

  /** Handles a timer that is due. */
  #ring(member: string, leaseMs: number, maxAttempts: number): void {
    const [timer, name = ''] = member.split(/\|(.*)/s)
    const job = this.#jobs.get(name)
    this.#timers.delete(member)
    if (timer === 'parked') {
      this.#lines.unpark(this.#lines.of(name))
    } else if (timer === 'forgotten') {
      this.#lines.forget(name)
    } else if (!job) {
      return
    } else if (timer === 'running') {
      this.#leave(job)
      if (job.attempts >= maxAttempts) this.#die(job, 'lost', '')
      else this.#return(job, 'abandoned')
    } else if (timer === 'unsettled') {
      this.#timers.set(member, this.#now + leaseMs)
      this.#unsettled.push({ id: name, claim: job.claims, settlement: job.rest })
    } else if (timer === 'later') {
      this.#leave(job)
      this.#return(job, 'waiting')
    } else if (timer === 'grave') {
      this.#remove(job)
    } else if (job.where !== 'running') {
      this.#die(job, 'waited_too_long', '')
    }
  }

  /** Claims the first job of a line, unless it has waited too long. */
  #claim(line: Line, leaseMs: number): ClaimedJob | undefined {
    const [, member] = line.waiting.first as readonly [number, string]
    const job = this.#jobs.get(member.slice(member.indexOf('|') + 1)) as Job
    if (job.deadline > 0 && job.deadline <= this.#now) {
      this.#die(job, 'waited_too_long', '')
      return undefined
    }
    this.#lines.serve(line, member, job.length, this.#now)
    job.claims += 1
    job.attempts += 1
    this.#keep(job, 'running', leaseMs)
    const { id, claims: claim, attempts: attempt, lostFrom, rest: held, payload } = job
    return { id, flow: line.name, claim, attempt, lostFrom, held, payload }
  }

  #wait(job: Job, where: 'waiting' | 'abandoned'): void {
    job.where = where
    this.#lines.join(this.#lines.of(job.flow), memberOf(job))
  }

  #return(job: Job, where: 'waiting' | 'abandoned'): void {
    if (job.deadline > 0 && job.deadline <= this.#now) this.#die(job, 'waited_too_long', '')
    else this.#wait(job, where)
  }

  /** Puts a job where it stays for a time. */
  #keep(job: Job, where: 'running' | 'unsettled' | 'later', ms: number): void {
    job.where = where
    this.#timers.set(`${where}|${job.id}`, this.#now + ms)
  }

  #leave(job: Job): void {
    const { where, id } = job
    job.where = 'nowhere'
    if (where === 'waiting' || where === 'abandoned') {
      this.#lines.leave(this.#lines.of(job.flow), memberOf(job), this.#now)
    }
    this.#timers.delete(`${where}|${id}`)
    if (where === 'dead') {
      this.#dead.delete(id)
      this.#timers.delete(`grave|${id}`)
    }
  }

  /** Takes a job from its place for good, with its deadline. */
  #withdraw(job: Job): void {
    this.#leave(job)
    this.#timers.delete(`waited_too_long|${job.id}`)
  }

  #remove(job: Job): void {
    this.#withdraw(job)
    this.#jobs.delete(job.id)
  }

  #die(job: Job, why: Why, error: string): void {
    this.#withdraw(job)
    job.where = 'dead'
    job.rest = `${why} ${error}`
    this.#dead.set(job.id, this.#now)
    this.#timers.set(`grave|${job.id}`, this.#now + this.#keepDeadMs)
    this.#died.push(job.id)
  }
}

/** The place of a job in its line. */
const memberOf = ({ rank, id }: Job): string => `${rank}|${id}`
