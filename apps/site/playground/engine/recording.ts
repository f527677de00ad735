import type { DenialReason, DeniedDecision } from '@sluice/core'
import type { Answer } from './program.ts'

/** The end of a call that was reserved. */
interface Settlement {
  readonly at: number
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
}

/** One decision of a run. Times are milliseconds since its start. */
export interface Step {
  readonly at: number
  readonly tenant: string
  /** 1, or more for a client that was denied and tries again. */
  readonly attempt: number
  readonly allowed: boolean
  readonly reason: DenialReason | undefined
  /** The policy that denies. */
  readonly policy: string | undefined
  /** Units left, in the order of `Run.policies`. */
  readonly remaining: readonly number[]
  /** Units asked for, in the same order. */
  readonly cost: readonly number[]
  readonly retryAfterMs: number | null
  /** The wait of an allowed request, in the queue of a leaky bucket. */
  readonly delayMs: number
  settled?: Settlement
}

interface RunPolicy {
  readonly name: string
  readonly unit: string
  /** The most that can remain. */
  readonly most: number
  /** True if all tenants count together. */
  readonly isShared: boolean
}

/** The first denial of a tenant by a policy for a reason, whole. */
export interface Denial {
  readonly at: number
  readonly tenant: string
  readonly decision: DeniedDecision
}

/** The decisions of a scenario. */
export interface Run {
  readonly policies: readonly RunPolicy[]
  readonly tenants: readonly string[]
  readonly steps: readonly Step[]
  readonly denials: readonly Denial[]
  /** The time of the last decision. */
  readonly endMs: number
}

/** Collects the decisions of a run. */
export class Recording {
  readonly steps: Step[] = []
  readonly #tenants = new Set<string>()
  readonly #denials = new Map<string, Denial>()
  #policies: readonly RunPolicy[] = []

  add(at: number, tenant: string, attempt: number, decision: Answer): Step {
    const { allowed, reason, violated, policies, retryAfterMs, delayMs } = decision
    if (this.steps.length === 0) {
      this.#policies = policies.map(({ name, unit, burst, scope }) => ({
        name,
        unit,
        most: burst,
        // The shares of a limit for all are of one tenant each.
        isShared: scope === 'global' && !name.endsWith('.share'),
      }))
    }
    this.#tenants.add(tenant)
    const key = JSON.stringify([tenant, violated?.name, reason])
    if (!decision.allowed && !this.#denials.has(key)) {
      this.#denials.set(key, { at, tenant, decision })
    }
    const step: Step = {
      at,
      tenant,
      attempt,
      allowed,
      reason,
      policy: violated?.name,
      remaining: policies.map(({ remaining }) => remaining),
      cost: policies.map(({ cost }) => cost),
      retryAfterMs,
      delayMs,
    }
    this.steps.push(step)
    return step
  }

  read(): Run {
    return {
      policies: this.#policies,
      tenants: [...this.#tenants],
      steps: this.steps,
      denials: [...this.#denials.values()],
      endMs: this.steps.at(-1)?.at ?? 0,
    }
  }
}
