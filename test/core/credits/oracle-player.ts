/* The oracle, as a player of histories. */
import { NOON } from '../../support/times.ts'
import type { Deploy, Player, Step } from './history.ts'
import { Oracle } from './oracle.ts'
import type { Terms } from './oracle-books.ts'

interface Open {
  readonly deploy: Deploy
  readonly at: number
  readonly within: number
  settledAt: number | undefined
}

/** The oracle, and the memory of all that was asked of it: which reservations there are, which ids of grants. */
export class OraclePlayer implements Player {
  now: number = NOON
  readonly oracle = new Oracle()
  readonly open = new Map<string, Open>()
  readonly #deploys: readonly Deploy[]

  constructor(deploys: readonly Deploy[]) {
    this.#deploys = deploys
  }

  async play(step: Step): Promise<unknown> {
    const { oracle, now } = this
    if (step.do === 'wait') {
      this.now += step.ms
      return undefined
    }
    const deploy = this.#deploys[step.deploy]!
    const { terms } = deploy
    switch (step.do) {
      case 'check':
        return decisionOf(oracle.check(terms, now, step.units))
      case 'peek':
        return decisionOf(oracle.peek(terms, now, step.units))
      case 'reserve': {
        const { id, units, within } = step
        const answer = oracle.reserve(terms, now, units, id, within)
        if (answer.allowed) this.open.set(id, { deploy, at: now, within, settledAt: undefined })
        return decisionOf(answer)
      }
      case 'settle': {
        const open = this.open.get(step.id)!
        if (open.settledAt !== undefined) {
          return now >= open.at + open.within && now - open.settledAt >= 60_000
            ? 'too_late'
            : 'settled_before'
        }
        open.settledAt = now
        const used = step.used === 'cancel' ? 0 : step.used
        oracle.settle(terms, now, step.id, used)
        return true
      }
      case 'settle hold': {
        const answer = oracle.settleHold(terms, now, step.id, step.used)
        const open = this.open.get(step.id)
        if (answer.applied && open) open.settledAt = -Infinity
        return { ...answer, ...oracle.after(terms, now) }
      }
      case 'grant':
        return this.#told(terms, oracle.grant(terms, now, step))
      case 'adjust':
        return this.#told(terms, oracle.adjust(terms, now, step.id, step.units, step.at))
      case 'revoke':
        return this.#told(terms, oracle.revoke(terms, now, step.id, step.owes))
      case 'reset':
        return undefined
    }
    return undefined
  }

  #told(terms: Terms, answer: { applied: boolean; units: number } | string): unknown {
    if (typeof answer === 'string') return answer
    const { applied, units } = answer
    return { applied, units, ...this.oracle.after(terms, this.now) }
  }

  async look(deploy: number) {
    return this.oracle.look(this.#deploys[deploy]!.terms, this.now)
  }
}

function decisionOf({ allowed, remaining, waits }: ReturnType<Oracle['check']>): unknown {
  const reason = allowed ? undefined : 'credits_exhausted'
  return { allowed, remaining, retryAfterMs: waits, reason, degraded: undefined }
}
