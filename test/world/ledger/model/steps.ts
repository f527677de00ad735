import type { State, World } from './state.ts'

/** The fate of one round trip to the store. */
export type Trip = 'arrives' | 'request lost' | 'reply lost'

export type StepKind =
  | 'reserve'
  | 'ask again'
  | 'find'
  | 'release'
  | 'settle'
  | 'cancel'
  | 'retry'
  | 'repeat'
  | 'forget'
  | 'cancel in the background'
  | 'sweep'
  | 'die'
  | 'check'
  | 'return'
  | 'shut down'
  | 'reset'
  | 'change plan'
  | 'wait'
  | 'end window'

/** Something that happens: one round trip of one isolate, or what the world does. */
export interface Step {
  readonly kind: StepKind
  /** The isolate. */
  readonly isolate: number
  readonly tenant: number
  /** The estimate, or the units used. */
  readonly units: number
  readonly unsettled?: 'keep' | 'release'
  /** The isolate whose call is released. */
  readonly target?: number
  readonly trip: Trip
}

/** A step, what its caller is told then, and the state after it. */
export interface Move {
  readonly step: Step
  readonly told: string
  readonly next: State
}

const TRIPS: readonly Trip[] = ['arrives', 'request lost', 'reply lost']

export const tripsIn = ({ can }: World): readonly Trip[] => (can.lose ? TRIPS : ['arrives'])

/** Describes a step. A number that does not apply is -1. */
export const stepOf = (
  kind: StepKind,
  isolate: number,
  tenant: number,
  units: number,
  more: Partial<Step> = {},
): Step => ({ kind, isolate, tenant, units, trip: 'arrives', ...more })

/** Writes a step as one would tell it, the isolates and tenants by their letters. */
export function describeStep({ step, told }: Move): string {
  const { kind, isolate, tenant, units, unsettled, target, trip } = step
  const who = isolate < 0 ? '' : `${'ABC'[isolate]}: `
  const whose = tenant < 0 ? '' : ` of ${'xyz'[tenant]}`
  const amount = units < 0 ? '' : ` ${units}`
  const mode = unsettled === undefined ? '' : ` (${unsettled})`
  const whom = target === undefined ? '' : ` the call of ${'ABC'[target]}`
  const fate = trip === 'arrives' ? '' : `, ${trip}`
  return `${who}${kind}${whom}${amount}${mode}${whose}${fate}${told && ` -> ${told}`}`
}
