import { readTrace } from '../trace.ts'
import { TEXTS, type TextName } from './prompts.ts'
import { roll } from './random.ts'

export const TENANTS = 500

/** One of the tenants: a budget that is never spent, or one that is, in each way to reserve. */
export interface Tenant {
  readonly name: string
  readonly plan: 'roomy' | 'tight'
  /** True if its calls fit to what is left (`minOutput`). */
  readonly fits: boolean
  readonly input: 'estimate' | 'bound'
}

/** The way that a call ends. */
type Fate =
  | 'answered'
  /** The answer tells no usage. */
  | 'silent'
  /** The client goes away while it waits, or while it reads. */
  | 'aborted early'
  | 'aborted midway'
  /** The process that holds the reservation ends: nobody reads on, and nobody settles. */
  | 'crashed'

/** A call to make, and what is going to happen to it. */
export interface Call {
  readonly index: number
  readonly tenant: Tenant
  readonly door: 'modelHandler' | 'limitedFetch'
  readonly isStream: boolean
  readonly text: TextName
  /** About so many tokens. */
  readonly input: number
  /** Tokens of the answer if nothing limits it. Half of the tight tenants' answers have no end. */
  readonly output: number
  /** The part of the output that nobody sees, as of a model that reasons. */
  readonly hidden: number
  /** The part of the input that the provider has in its cache. */
  readonly cached: number
  /** The maximum that the client sets. */
  readonly maxOutput: number | undefined
  readonly fate: Fate
}

/** The share of the calls that end so; the rest are answered. */
const FATES: Readonly<Record<Exclude<Fate, 'answered'>, number>> = {
  silent: 0.02,
  'aborted early': 0.02,
  'aborted midway': 0.03,
  crashed: 0.01,
}

const MAXIMA = [256, 1_024, 2_048, undefined] as const

const tenantOf = (index: number): Tenant => ({
  name: `t${index}`,
  plan: index % 2 === 0 ? 'roomy' : 'tight',
  fits: index % 4 < 2,
  input: index % 8 < 4 ? 'estimate' : 'bound',
})

/** Tenants whose calls are made at the same time. */
const NEIGHBOURS = 10

/** Deals the lengths of the trace out to the tenants, so that each makes several calls at the same time. */
export function dealCalls(perTenant: number): Call[] {
  const rows = readTrace()
  const tenants = Array.from({ length: TENANTS }, (_, index) => tenantOf(index))
  return Array.from({ length: TENANTS * perTenant }, (_, index) => {
    const group = Math.floor(index / (NEIGHBOURS * perTenant)) * NEIGHBOURS
    const tenant = tenants[group + (index % NEIGHBOURS)]!
    const row = rows[Math.floor(roll('row', index) * rows.length)]!
    const isEndless = tenant.plan === 'tight' && roll('endless', index) < 0.5
    return {
      index,
      tenant,
      door: roll('door', index) < 0.5 ? 'modelHandler' : 'limitedFetch',
      isStream: roll('stream', index) < 0.7,
      text: TEXTS[Math.floor(roll('text', index) * TEXTS.length)]!,
      input: row.input,
      output: isEndless ? Infinity : row.output,
      hidden: roll('reasons', index) < 0.2 ? roll('hidden', index) : 0,
      cached: roll('cached', index) < 0.3 ? 0.5 : 0,
      maxOutput: MAXIMA[Math.floor(roll('maximum', index) * MAXIMA.length)],
      fate: fateOf(roll('fate', index)),
    }
  })
}

function fateOf(chance: number): Fate {
  let below = 0
  for (const [fate, share] of Object.entries(FATES)) {
    below += share
    if (chance < below) return fate as Fate
  }
  return 'answered'
}
