import {
  createLimiter,
  manualClock,
  type Decision,
  type Limiter,
  type ManualClock,
  type Policy,
  type Store,
} from '@sluice/core'
import { grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { call, evaluate, type Expression } from './expression.ts'
import { readTexts } from './fields.ts'
import { refused, withIssues } from './issue.ts'
import { POLICY_KINDS, type PolicyKind } from './policies.ts'
import { MAX_POLICIES, type Scenario } from './scenario.ts'

/** The policies of a scenario, as calls of the product's factories. */
export interface Plan {
  readonly policies: readonly Expression[]
  /** The units that policies count beside requests and calls in flight, in order. */
  readonly units: readonly string[]
  /** True if calls have an end: they reserve, and are settled. */
  readonly reserves: boolean
  /** The balances to grant before the first request of a tenant. */
  readonly grants: readonly { readonly policy: string; readonly amount: Expression }[]
}

/** The answer to a request; of a call that was reserved with its end. */
export type Answer = Decision & Partial<Pick<Reservation, 'settle'>>

/** Exports of the code that is shown, which a run needs. */
export interface Program {
  readonly clock: ManualClock
  readonly decide: (tenant: string, estimate: Readonly<Record<string, number>>) => Promise<Answer>
  /** Grants a new tenant its credits. */
  readonly welcome?: (tenant: string) => Promise<unknown>
}

/** Keeps the counts and reservations of all: no scenario has as many, and one that is dropped begins anew. */
export const STORE: Expression = call('memory', { maxKeys: 10_000_000 })

/** Any time: a grant is tried at it. */
const PROBE_MS = Date.UTC(2026, 0, 5)

async function welcomeTo(
  limiter: Limiter,
  clock: ManualClock,
  tenant: string,
  grants: Plan['grants'],
): Promise<void> {
  const once = { id: 'welcome', at: new Date(clock()), kind: 'paid' } as const
  for (const { policy, amount } of grants) {
    await grant(limiter, { tenant }, { policy, amount: evaluate(amount) as number, ...once })
  }
}

/** Reads the policies of a scenario. @throws Issue When the product refuses one; it names the field. */
export async function planOf({ policies }: Pick<Scenario, 'policies'>): Promise<Plan> {
  if (policies.length === 0 || policies.length > MAX_POLICIES) {
    throw refused('policies', 'policies', `must have 1 to ${MAX_POLICIES} policies`)
  }
  const names = policies.map(({ kind }, index) => {
    const before = policies.slice(0, index).filter((other) => other.kind === kind).length
    return before === 0 ? kind : `${kind}-${before + 1}`
  })
  const units = new Set<string>()
  const calls: Expression[] = []
  const grants: { policy: string; amount: Expression }[] = []
  for (const [index, { kind, texts }] of policies.entries()) {
    const { fields, policy, grant: amountOf }: PolicyKind = POLICY_KINDS[kind]
    const path = `policies.${index}`
    await withIssues(path, fields, async () => {
      const name = names[index] ?? kind
      const values = readTexts(path, fields, texts)
      const made = policy(name, values)
      const evaluated = evaluate(made) as Policy
      // Alone in a limiter, so that a mistake is of this policy.
      const clock = manualClock(PROBE_MS)
      const alone = createLimiter({
        store: memory(),
        clock,
        onStoreError: 'deny',
        policies: [evaluated],
      })
      for (const { unit: counted } of evaluated()) units.add(counted)
      calls.push(made)
      if (!amountOf) return
      const given = { policy: name, amount: amountOf(values) }
      await welcomeTo(alone, clock, 'probe', [given])
      grants.push(given)
    })
  }
  const counted = [...units].filter((unit) => unit !== 'request' && unit !== 'call').toSorted()
  return {
    policies: calls,
    units: counted,
    reserves: counted.length > 0 || units.has('call'),
    grants,
  }
}

/** Creates the program that `codeOf` prints. */
export function createProgram(
  { policies, units, reserves, grants }: Plan,
  startMs: number,
): Program {
  const clock = manualClock(startMs)
  const limiter: Limiter = createLimiter({
    store: evaluate(STORE) as Store,
    clock,
    ...(grants.length > 0 && { onStoreError: 'deny' as const }),
    policies: policies.map((policy) => evaluate(policy) as Policy),
  })
  const withCost = units.length > 0
  return {
    clock,
    decide: (tenant, estimate) =>
      reserves
        ? reserve(limiter, { tenant }, withCost ? { cost: estimate } : {})
        : limiter.check({ tenant }),
    ...(grants.length > 0 && {
      welcome: (tenant: string) => welcomeTo(limiter, clock, tenant, grants),
    }),
  }
}
