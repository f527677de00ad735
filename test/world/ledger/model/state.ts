/* The states of the ledger: what the store holds, and what each caller knows. Shares no code with the product. */

/** How many of what there are, and what may happen. Everything may happen any number of times. */
export interface World {
  readonly name: string
  /** Each has one call in flight at most, and one lease. */
  readonly isolates: number
  readonly tenants: number
  /** Units a window: of the tenant's plan, and of the smaller one that it may change to and from. */
  readonly limits: readonly [large: number, small: number]
  readonly estimates: readonly number[]
  readonly unsettled: readonly ('keep' | 'release')[]
  /** The uses that a call may turn out to have, less its estimate. With any list, it may be cancelled. */
  readonly differences: readonly number[]
  readonly hasLeases: boolean
  readonly can: {
    readonly lose: boolean
    readonly die: boolean
    readonly changePlan: boolean
    readonly reset: boolean
    readonly endWindow: boolean
    readonly sweep: boolean
  }
  /** A mistake put into the design, to see that it is found. */
  readonly leak?: Leak
}

export type Leak =
  | 'charges after the call'
  | 'settles a released call as if it were held'
  | 'settles again after a lost reply'
  | 'returns a lease twice'
  | 'charges a denied request'

/** A tenant's budget in the window of now. */
export interface Tenant {
  /** Units that the store holds. */
  readonly used: number
  readonly isLowered: boolean
  /** Of these, units of calls that are over: settled, or abandoned for good. Not known to the store. */
  readonly closed: number
  /** Units given back for charges that a reset had forgotten: taken from newer charges. Not known to the store. */
  readonly debt: number
}

/**
 * The place of a call in its caller's program. `settling` and `cancelling`: an attempt has failed, and whether the
 * store has heard of it is not known. `finding`, `releasing` and `asking again`: on the way from a denial to the
 * answer. `dead`: its holder is, but not its charge. `closed`: over, but a sweep still has it on its list.
 */
export type Place =
  | 'idle'
  | 'held'
  | 'settling'
  | 'settled'
  | 'cancelling'
  | 'finding'
  | 'releasing'
  | 'asking again'
  | 'dead'
  | 'closed'

/** The mark of a reservation or a block, in the store. */
export type Mark = 'none' | 'open' | 'settled' | 'released'

/** The one call of an isolate. */
export interface Call {
  readonly place: Place
  readonly tenant: number
  /** 0 for a sweep, which reserves nothing. */
  readonly estimate: number
  readonly unsettled: 'keep' | 'release'
  /** Units that it has used, once its caller has tried to settle. */
  readonly actual: number
  /** Failed attempts to cancel. */
  readonly attempts: number
  readonly mark: Mark
  /** Units that settling has charged, as the mark tells whoever repeats it. */
  readonly applied: number
  /** True if it was not settled in time. */
  readonly isDue: boolean
  /** True if its window is over. */
  readonly isPast: boolean
  /** True if a reset has forgotten its charge. The mark does not know. */
  readonly isForgotten: boolean
  /** True if its caller has asked by the smaller plan: a second decision of one call is by the plan of the first. */
  readonly isLowered: boolean
  /** The calls that it has yet to release, as bits. */
  readonly targets: number
  readonly released: number
  /** True if one of its releases has failed: the caller has its answer, and the others go on. */
  readonly hasFailed: boolean
  /** Units given back to the store so far, and the settlements that have corrected the charge. */
  readonly returned: number
  readonly settlements: number
}

/** Units that an isolate has taken in one step. */
export interface Block {
  readonly units: number
  readonly left: number
  readonly limit: number
  readonly mark: Mark
  /** 0 while it serves; 1 while its units can be given back; 2 later. */
  readonly age: number
  readonly isForgotten: boolean
  readonly returned: number
}

/** The knowledge of an isolate about its one partition. */
export interface Holding {
  /** The decisions to take the next block for. */
  readonly size: number
  readonly serving: Block | undefined
  /** A block whose units are on their way back. */
  readonly returning: Block | undefined
  /** For how long it has asked for no block: forgotten at 2. */
  readonly idle: number
}

export interface State {
  readonly tenants: readonly Tenant[]
  readonly calls: readonly Call[]
  readonly holdings: readonly Holding[]
}

export const IDLE: Call = {
  place: 'idle',
  tenant: 0,
  estimate: 0,
  unsettled: 'keep',
  actual: 0,
  attempts: 0,
  mark: 'none',
  applied: 0,
  isDue: false,
  isPast: false,
  isForgotten: false,
  isLowered: false,
  targets: 0,
  released: 0,
  hasFailed: false,
  returned: 0,
  settlements: 0,
}

export const NEW_HOLDING: Holding = { size: 1, serving: undefined, returning: undefined, idle: 0 }

const NEW_TENANT: Tenant = { used: 0, isLowered: false, closed: 0, debt: 0 }

export const initialState = ({ isolates, tenants, hasLeases, estimates }: World): State => ({
  tenants: Array.from({ length: tenants }, () => NEW_TENANT),
  calls: Array.from({ length: estimates.length > 0 ? isolates : 0 }, () => IDLE),
  holdings: Array.from({ length: hasLeases ? isolates : 0 }, () => NEW_HOLDING),
})

export const limitOf = (
  { limits }: World,
  { isLowered }: Pick<Tenant | Call, 'isLowered'>,
): number => limits[isLowered ? 1 : 0]

/** The units of this window that are charged for a call which is not over. */
export const unitsOfCall = ({ mark, isPast, isForgotten, estimate }: Call): number =>
  mark === 'open' && !isPast && !isForgotten ? estimate : 0

/** The units of this window that are charged for a block. One that is past the window is forgotten, too. */
export const unitsOfBlock = (block: Block | undefined): number =>
  block && !block.isForgotten ? block.units - block.returned : 0

export const withTenant = (state: State, index: number, tenant: Tenant): State => ({
  ...state,
  tenants: state.tenants.with(index, tenant),
})

export const withCall = (state: State, index: number, call: Call): State => ({
  ...state,
  calls: state.calls.with(index, call),
})

export const withHolding = (state: State, index: number, holding: Holding): State => ({
  ...state,
  holdings: state.holdings.with(index, holding),
})
