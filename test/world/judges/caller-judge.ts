/* Holds what callers were told to what Redis has done, and to what is promised about time, errors and money. */
import type { Decision } from '@sluice/core'
import { hasCalendars } from '../deployments.ts'
import { isMoving, isRegional } from '../wrappers.ts'
import { SECRET, type Setting } from '../setting.ts'
import { PLAN_MS } from '../limiters.ts'
import { LocalJudge } from './local-judge.ts'
import { ReservationJudge } from './reservation-judge.ts'
import { judgeParts } from './rollout-judge.ts'
import type { Rule } from './rules.ts'
import type { ServerJudge } from './server-judge.ts'

/** A call of an app. */
export interface Call {
  readonly number: number
  readonly kind: string
  readonly isolate: string
  readonly subject: Readonly<Record<string, string | undefined>>
  readonly startedAt: number
  /** Decisions that Redis has made for it so far, and whether each has charged. */
  readonly made: { readonly id: string; readonly isCharged: boolean }[]
  /** The position of each choice by the id of its decision. */
  readonly positions: Map<string, number>
  /** The number of times that Redis had lost data when it began. */
  readonly losses: number
}

/** How often each thing was told. */
export interface CallerTally {
  allowed: number
  denied: number
  degraded: number
  cached: number
  leased: number
  reserved: number
  settled: number
  failed: number
  crashed: number
  /** Decisions in which a choice after the first was made. */
  fell: number
  /** Of the largest map in a process. */
  entries: number
}

const CAUSES = new Set([
  'store_timeout',
  'store_unreachable',
  'store_refused',
  'store_bad_reply',
  'store_unauthorized',
  'store_failed',
  'store_paused',
])

/** The most entries of a map: what forgets here forgets past a thousand, and then is one above it. */
const MOST_ENTRIES = 1_001

/** The longest that a denial may be wrong: what is kept of denials is forgotten then. */
const DENIAL_MS = 5_000

export class CallerJudge {
  readonly tally: CallerTally = {
    allowed: 0,
    denied: 0,
    degraded: 0,
    cached: 0,
    leased: 0,
    reserved: 0,
    settled: 0,
    failed: 0,
    crashed: 0,
    fell: 0,
    entries: 0,
  }
  readonly reservations: ReservationJudge
  readonly #local: LocalJudge
  readonly #setting: Setting
  readonly #accuse: (what: string) => void
  /** The last denial that an isolate was told by its store. It may have been for everyone. */
  readonly #denials = new Map<string, number>()

  constructor(setting: Setting, server: ServerJudge, accuse: (what: string) => void) {
    this.#setting = setting
    this.reservations = new ReservationJudge(setting, server, this.tally, accuse)
    this.#accuse = accuse
    this.#local = new LocalJudge(setting, accuse)
  }

  /** Judges a decision that a caller was told. */
  decided(
    call: Call,
    decision: Decision,
    now: number,
    losses: number,
    mostTrips: number,
    waitMs: number,
  ): void {
    const { weather, timeoutMs, configures, looksUpPlans } = this.#setting
    // Records are loaded, and a denial by outdated ones, or without an end of a period, is decided again.
    const isTwice = configures || looksUpPlans || hasCalendars(this.#setting.deployments)
    const trips = mostTrips * (isTwice ? 2 : 1) + (configures ? 2 : 0)
    const longest = waitMs + timeoutMs * trips + (looksUpPlans ? 2 * PLAN_MS : 0)
    const { allowed, degraded, source } = decision
    this.tally[allowed ? 'allowed' : 'denied'] += 1
    if (allowed && decision.choice) this.tally.fell += 1
    const lasted = now - call.startedAt
    if (lasted > longest) this.#accuse(`a decision took ${lasted} ms`)
    if (degraded) {
      this.tally.degraded += 1
      const isMoved = degraded.cause === 'store_moved' && isMoving(this.#setting.wrappers)
      if (!isMoved && !CAUSES.has(degraded.cause)) this.#accuse(`degraded by ${degraded.cause}`)
      // A call may wait for settings or a plan that another has begun to read.
      const sharesReads = configures || looksUpPlans
      // A shared call ends at the deadline of its oldest check.
      const spread = this.#setting.wrappers.includes('batched') ? 20 : 0
      const isCut = isRegional(this.#setting.wrappers)
      if (isCalm(weather) && lasted < timeoutMs - spread && !sharesReads && !isMoved && !isCut)
        this.#accuse('degraded although nothing has failed')
      this.#judgeMode(decision)
      return
    }
    this.#judgeDenial(decision)
    if (source === 'cache') this.#judgeCached(call, now)
    else if (!allowed) this.#denials.set(call.isolate, now)
    if (source === 'lease') this.tally.leased += 1
    if (source === 'store' && this.#knowsMade) this.#judgeMade(call, decision, losses)
  }

  /** Judges what a check was let have without Redis: of leases, or counted by its process alone. */
  serve(
    call: Call,
    decision: Decision,
    rules: readonly Rule[],
    asked: Readonly<Record<string, number>>,
  ): void {
    if (decision.degraded?.mode === 'local') this.#local.decided(call, decision, rules)
    if (decision.source === 'store') judgeParts(decision, rules, asked, this.#accuse)
    if (!decision.allowed || decision.degraded) return
    for (const { name, charged, cost } of decision.policies) {
      const rule = rules.find((one) => one.name === name)
      if (!rule?.leaseMs || !charged) continue
      this.reservations.serve(name, cost)
    }
  }

  /** Calls that share a script or a block are not told apart. */
  get #knowsMade(): boolean {
    return ['plain', 'pipelined', 'cached', 'breaker'].includes(this.#setting.wrappers)
  }

  #judgeMode({ allowed, degraded, policies }: Decision): void {
    const { onStoreError, wrappers } = this.#setting
    const mode = degraded?.mode
    // A region denies what it does not hold.
    if (isRegional(wrappers) && mode === 'deny' && !allowed) return
    if (mode === 'allow' && !allowed) this.#accuse('denied although onStoreError is allow')
    if (mode === 'deny' && allowed) this.#accuse('allowed although onStoreError is deny')
    const expected = { default: ['local', 'deny'], local: ['local'], share: ['local', 'deny'] }
    const modes = { ...expected, allow: ['allow'], deny: ['deny'] }[onStoreError]
    // A cached denial outlives an outage.
    if (mode && !modes.includes(mode) && !(mode === 'local' && !allowed)) {
      this.#accuse(`degraded to ${mode} although onStoreError is ${onStoreError}`)
    }
    if (mode === 'allow' && policies.length > 0) this.#accuse('allowed blindly, with policies')
  }

  #judgeDenial({ allowed, retryAfterMs, reason, violated }: Decision): void {
    if (allowed) return
    if (violated === undefined) this.#accuse(`denied for ${reason} by no policy`)
    const isEndless = reason === 'cost_exceeds_limit' || reason === 'credits_exhausted'
    if (isEndless ? retryAfterMs !== null : !(retryAfterMs! > 0)) {
      this.#accuse(`denied for ${reason}, to be retried in ${retryAfterMs} ms`)
    }
  }

  /** Notes a denial by Redis, of which a caller that goes on is told later, or not if another choice is let through. */
  notCharged({ isolate, kind, positions }: Call, now: number): void {
    const hasChoices = kind === 'check' && positions.size > 1
    if (kind === 'reserve' || kind === 'model' || hasChoices) this.#denials.set(isolate, now)
  }

  #judgeCached(call: Call, now: number): void {
    this.tally.cached += 1
    // Which of the calls that share a script was denied is not seen.
    if (this.#setting.wrappers.includes('batched')) return
    // Redis has denied it just now by outdated records, and it was decided again.
    if (call.made.length > 0) this.#denials.set(call.isolate, now)
    const since = now - (this.#denials.get(call.isolate) ?? -Infinity)
    // Clocks that are set make an age unknown to the isolate itself.
    if (since > DENIAL_MS + this.#setting.timeoutMs && !this.#setting.weather.skew) {
      this.#accuse(`denied from memory ${since} ms after the last denial by Redis`)
    }
  }

  /** A caller is told once what Redis has done for its call. */
  #judgeMade(
    { made, positions, kind, losses: before }: Call,
    decision: Decision,
    losses: number,
  ): void {
    const charged = made.filter(({ isCharged }) => isCharged).length
    if (charged > 1) this.#accuse(`${kind} was charged ${charged} times`)
    if (losses !== before) return
    // Denied by outdated records, and tried again with the current ones, of which no reply came.
    const isUnanswered = made.length > 1 && made.at(-1)?.isCharged && !isCalm(this.#setting.weather)
    if (isUnanswered && !decision.allowed) return
    const isCharged = decision.policies.some((policy) => policy.charged)
    if (isCharged !== charged > 0) {
      this.#accuse(
        `${kind} was told that it is ${isCharged ? '' : 'not '}charged; Redis has made ${charged} charges`,
      )
    }
    if (!decision.allowed && charged > 0) this.#accuse(`a denied ${kind} was charged`)
    const { choice } = decision
    const chosen = made.filter((one) => one.isCharged).map(({ id }) => positions.get(id))
    if (choice !== undefined && chosen.some((position) => position !== choice)) {
      this.#accuse(`${kind} was told choice ${choice}; Redis has charged ${chosen.join()}`)
    }
  }

  /** Judges an answer over HTTP. */
  answered(
    call: Call,
    { status, headers }: Response,
    text: string,
    isGone: boolean,
    now: number,
  ): void {
    this.text(text)
    headers.forEach((value) => this.text(value))
    const isDenied = status === 429 || status === 503
    if (status === 502 || status === 499 || status === 400) return
    if (status !== 200 && !isDenied)
      this.#accuse(`${call.kind} was answered with ${status}: ${text}`)
    const retryAfter = headers.get('retry-after')
    if (retryAfter !== null && !/^[1-9]\d*$/.test(retryAfter)) {
      this.#accuse(`${call.kind} was answered with Retry-After: ${retryAfter}`)
    }
    if (status === 429 && call.made.length > 0) this.#denials.set(call.isolate, now)
    // With only the reply lost, a process may deny by itself what Redis has charged.
    if (status === 200 || !this.#knowsMade || isGone || !isCalm(this.#setting.weather)) return
    if (call.made.some(({ isCharged }) => isCharged) && status === 429) {
      this.#accuse(`${call.kind} was charged, and answered with ${status}`)
    }
  }

  /** Notes a reset, which also ends what a process has counted by itself. */
  reset({ isolate }: Call): void {
    this.#local.reset(isolate)
  }

  /** Judges the size of a map in a process. */
  mapped(entries: number): void {
    this.tally.entries = Math.max(this.tally.entries, entries)
    if (entries > MOST_ENTRIES) this.#accuse(`a map has ${entries} entries`)
  }

  /** Judges a text that operators or clients see. */
  text(text: string): void {
    if (text.includes(SECRET)) this.#accuse(`an id is shown: ${text}`)
  }

  /** Judges an exception: only faults of the store and misuse may throw. */
  threw(call: Call, error: unknown): void {
    this.tally.failed += 1
    const { name, code, message } = error as Error & { code?: string }
    this.text(message)
    if (name !== 'StoreError') this.#accuse(`${call.kind} threw ${name} ${code}: ${message}`)
    else if (['check', 'peek', 'reserve'].includes(call.kind))
      this.#accuse(`${call.kind} threw ${code}`)
  }
}

const isCalm = ({ trouble, incidentMs }: Setting['weather']): boolean =>
  trouble === 0 && incidentMs === 0
