import type { Amounts, Journey } from './journey.ts'
import { PRICE } from './provider.ts'

const NOTHING: Amounts = { token: 0, usd: 0 }

export const sum = (amounts: readonly Amounts[]): Amounts => ({
  token: amounts.reduce((total, { token }) => total + token, 0),
  usd: amounts.reduce((total, { usd }) => total + usd, 0),
})

const most = (a: Amounts, b: Amounts): Amounts => ({
  token: Math.max(a.token, b.token),
  usd: Math.max(a.usd, b.usd),
})

/** The charge of a call by the books: the provider's bill, its decision and the faults that it met. */
export interface Entry {
  readonly journey: Journey
  /** The provider's bill. */
  readonly billed: Amounts
  /** `told`: the provider told the usage; `kept`: it did not; `unsettled`: its holder crashed. */
  readonly kind: 'told' | 'kept' | 'unsettled'
  /** The charge that it is to come to. */
  readonly due: Amounts
  /** The charge in the store, and in the memory that decides while the store fails. */
  readonly inStore: Amounts
  readonly inMemory: Amounts
  /** True if the store counts it as a call in flight for good. */
  readonly isInFlight: boolean
  /** True if it was decided without the store. */
  readonly isDegraded: boolean
}

/** Returns the entry of a call, or `undefined` if it was denied. */
export function entryOf(journey: Journey): Entry | undefined {
  const { call, decision, billed, usage, requests } = journey
  if (decision === undefined || billed === undefined) return undefined
  const estimate = reservedBy(decision.policies)
  const kind = call.fate === 'crashed' ? 'unsettled' : usage?.complete ? 'told' : 'kept'
  const atLeast = usage ? most(estimate, priceOf(usage)) : estimate
  const due = kind === 'told' ? { token: billed.token, usd: Math.ceil(billed.usd) } : atLeast
  const [reserving, ...settling] = requests
  const isDegraded = decision.degraded !== undefined
  const isInStore = !isDegraded || reserving?.isHeld === true
  const isSettled = settling.some(({ fault }) => fault !== 'request lost')
  return {
    journey,
    billed,
    kind,
    due,
    inStore: isInStore ? (isSettled ? due : estimate) : NOTHING,
    inMemory: isDegraded ? due : NOTHING,
    isInFlight: isInStore && !isSettled,
    isDegraded,
  }
}

function reservedBy(policies: readonly { unit: string; cost: number }[]): Amounts {
  const costIn = (unit: string) => policies.find((policy) => policy.unit === unit)?.cost ?? 0
  return { token: costIn('token'), usd: costIn('usd') }
}

/** The price of what was counted while an answer passed. */
function priceOf({ input, output }: NonNullable<Journey['usage']>): Amounts {
  return { token: input + output, usd: Math.ceil(input * PRICE.input + output * PRICE.output) }
}
