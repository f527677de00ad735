import type { Block, Call, State } from './model/state.ts'
import type { Move, StepKind } from './model/steps.ts'

/** Steps that are decided by the limit, and steps that give back units which a reset may have forgotten. */
const GRANTS = new Set<StepKind>(['reserve', 'check', 'change plan'])
const CORRECTIONS = new Set<StepKind>(['settle', 'cancel', 'retry', 'release', 'return', 'reset'])

/**
 * The class of an edge: the kind of the step and its fate, what its caller is told, the states of the call or block that
 * it is about, and what of the budget has a say. Edges of one class differ in the number of units that others hold, as
 * far as no answer depends on it, and in what takes no part.
 */
export function classOf({ tenants, calls, holdings }: State, move: Move): string {
  const { kind, isolate, tenant: at, units, unsettled, target, trip } = move.step
  const tenant = tenants[at]
  const isLowered = tenant?.isLowered && GRANTS.has(kind)
  const isInDebt = tenant && tenant.debt > 0 && CORRECTIONS.has(kind)
  const about = `${kind} ${trip} ${units} ${unsettled} ${move.told} ${isLowered} ${isInDebt}`
  if (kind === 'reset') return about
  if (target !== undefined) return `${about} ${textOf(calls[isolate])} ${textOf(calls[target])}`
  const holding = holdings[isolate]
  if (!holding) return `${about} ${textOf(calls[isolate])}`
  if (kind === 'return') return `${about} ${textOfBlock(holding.returning)}`
  const taken = move.next.holdings[isolate]?.serving?.units
  return `${about} ${textOfBlock(holding.serving)} ${holding.size} ${holding.idle} ${taken}`
}

/* The objects of a search are few, and the same for equal values. */
const texts = new WeakMap<object, string>()

/** A call without the names in it, and without numbers of units, which the step and its answer have. */
function textOf(call: Call | undefined): string {
  if (!call) return ''
  const known = texts.get(call)
  if (known !== undefined) return known
  const { place, estimate, unsettled, attempts, mark, targets, released } = call
  const { isDue, isPast, isForgotten, isLowered, hasFailed } = call
  const facts = [isDue, isPast, isForgotten, isLowered, hasFailed, estimate > 0, released > 0]
  const flags = facts.map(Number)
  const text = `${place} ${unsettled} ${mark} ${attempts} ${flags.join('')} ${countBits(targets)}`
  texts.set(call, text)
  return text
}

function textOfBlock(block: Block | undefined): string {
  if (!block) return ''
  const { units, left, limit, mark, age, isForgotten } = block
  return `${units} ${left} ${limit} ${mark} ${age} ${isForgotten}`
}

const countBits = (bits: number): number => bits.toString(2).replaceAll('0', '').length
