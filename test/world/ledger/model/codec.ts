/*
 * One text for each state, and the same one for states that differ only in the names of isolates and tenants. No
 * step depends on a name: an isolate is known by what it does, and all budgets have the same limits. So what can
 * happen in one of these states can happen in the others, by other names.
 */
import type { Block, Call, Holding, Mark, Place, State, Tenant } from './state.ts'

const PLACES: readonly Place[] = [
  'idle',
  'held',
  'settling',
  'settled',
  'cancelling',
  'finding',
  'releasing',
  'asking again',
  'dead',
  'closed',
]
const MARKS: readonly Mark[] = ['none', 'open', 'settled', 'released']

const PLACE_CODES = Object.fromEntries(PLACES.map((place, code) => [place, code])) as Record<
  Place,
  number
>
const MARK_CODES = Object.fromEntries(MARKS.map((mark, code) => [mark, code])) as Record<
  Mark,
  number
>

const bit = (flag: boolean): number => (flag ? 1 : 0)

/* Each value as one number, which has a range of its own for each field. Some are below 0. */

const codeOfTenant = ({ used, closed, debt, isLowered }: Tenant): number =>
  ((used + 8) * 64 + closed + 8) * 64 + (debt + 8) * 2 + bit(isLowered)

function codeOfCall(call: Call): number {
  const { place, tenant, estimate, unsettled, actual, attempts, mark, applied } = call
  const { isDue, isPast, isForgotten, isLowered, hasFailed } = call
  const { targets, released, returned, settlements } = call
  const first =
    ((((((PLACE_CODES[place] * 4 + tenant) * 4 + estimate) * 2 + bit(unsettled === 'release')) * 4 +
      actual) *
      4 +
      attempts) *
      4 +
      MARK_CODES[mark]) *
      8 +
    applied +
    4
  const flags =
    bit(isLowered) * 16 + bit(isDue) * 8 + bit(isPast) * 4 + bit(isForgotten) * 2 + bit(hasFailed)
  return (((first * 32 + flags) * 8 + targets) * 4 + released) * 32 + returned * 4 + settlements
}

function codeOfBlock(block: Block | undefined): number {
  if (block === undefined) return 0
  const { units, left, limit, mark, age, isForgotten, returned } = block
  const numbers = ((units * 4 + left) * 16 + limit) * 4 + MARK_CODES[mark]
  return 1 + ((numbers * 4 + age) * 2 + bit(isForgotten)) * 8 + returned
}

const codeOfHolding = ({ size, serving, returning, idle }: Holding): number =>
  ((codeOfBlock(serving) * 2 ** 18 + codeOfBlock(returning)) * 4 + size) * 4 + idle

/** Numbers the values of one kind, so that equal ones have the same number. */
class Interned<Value> {
  readonly values: Value[] = []
  readonly #ids = new Map<number, number>()
  readonly #codeOf: (value: Value) => number

  constructor(codeOf: (value: Value) => number) {
    this.#codeOf = codeOf
  }

  idOf(value: Value): number {
    const code = this.#codeOf(value)
    const known = this.#ids.get(code)
    if (known !== undefined) return known
    const id = this.values.push(value) - 1
    this.#ids.set(code, id)
    return id
  }
}

/** A renaming: the new number of each isolate and each tenant. */
interface Renaming {
  readonly isolates: readonly number[]
  readonly tenants: readonly number[]
  /** The number of each call under it, by its number. */
  readonly calls: number[]
}

export class Codec {
  readonly #tenants = new Interned<Tenant>(codeOfTenant)
  readonly #calls = new Interned<Call>(codeOfCall)
  readonly #holdings = new Interned<Holding>(codeOfHolding)
  readonly #renamings: readonly Renaming[]
  readonly #firstCall: number
  readonly #firstHolding: number
  readonly #ids: number[]

  constructor({ tenants, calls, holdings }: State) {
    const isolates = permutations(Math.max(calls.length, holdings.length))
    this.#renamings = isolates.flatMap((one) =>
      permutations(tenants.length).map((other) => ({ isolates: one, tenants: other, calls: [] })),
    )
    this.#firstCall = tenants.length
    this.#firstHolding = tenants.length + calls.length
    this.#ids = Array<number>(this.#firstHolding + holdings.length).fill(0)
  }

  /** Returns the same text for all states that differ in names only. */
  encode({ tenants, calls, holdings }: State): string {
    const [ids, firstCall, firstHolding] = [this.#ids, this.#firstCall, this.#firstHolding]
    for (let at = 0; at < firstCall; at += 1) ids[at] = this.#tenants.idOf(tenants[at] as Tenant)
    for (let at = 0; at < calls.length; at += 1) {
      ids[firstCall + at] = this.#calls.idOf(calls[at] as Call)
    }
    for (let at = 0; at < holdings.length; at += 1) {
      ids[firstHolding + at] = this.#holdings.idOf(holdings[at] as Holding)
    }
    let best = ''
    for (const renaming of this.#renamings) {
      const text = this.#renamedText(renaming)
      if (best === '' || text < best) best = text
    }
    return best
  }

  decode(text: string): State {
    const ids = Array.from(text, (_, index) => text.charCodeAt(index))
    const [first, second] = [this.#firstCall, this.#firstHolding]
    return {
      tenants: ids.slice(0, first).map((id) => this.#tenants.values[id] as Tenant),
      calls: ids.slice(first, second).map((id) => this.#calls.values[id] as Call),
      holdings: ids.slice(second).map((id) => this.#holdings.values[id] as Holding),
    }
  }

  #renamedText(renaming: Renaming): string {
    const { isolates, tenants } = renaming
    const [ids, firstCall, firstHolding] = [this.#ids, this.#firstCall, this.#firstHolding]
    const renamed = Array<number>(ids.length)
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] as number
      if (at < firstCall) renamed[tenants[at] as number] = id
      else if (at < firstHolding) {
        renamed[firstCall + (isolates[at - firstCall] as number)] = this.#renamedCall(id, renaming)
      } else renamed[firstHolding + (isolates[at - firstHolding] as number)] = id
    }
    return String.fromCharCode(...renamed)
  }

  #renamedCall(id: number, { isolates, tenants, calls }: Renaming): number {
    const known = calls[id]
    if (known !== undefined) return known
    const call = this.#calls.values[id] as Call
    let targets = 0
    for (const [from, to] of isolates.entries()) if (call.targets & (1 << from)) targets |= 1 << to
    const tenant = call.place === 'idle' ? 0 : (tenants[call.tenant] as number)
    const renamed = this.#calls.idOf({ ...call, tenant, targets })
    calls[id] = renamed
    return renamed
  }
}

function permutations(count: number): number[][] {
  if (count === 0) return [[]]
  return permutations(count - 1).flatMap((rest) =>
    Array.from({ length: count }, (_, at) => rest.toSpliced(at, 0, count - 1)),
  )
}
