/* Compares what a provider has billed with what Redis holds for the call. */
import { PRICE, type Bill } from '../provider.ts'
import type { Setting } from '../setting.ts'
import type { Call } from './caller-judge.ts'
import type { ServerJudge } from './server-judge.ts'

/** A model call that has ended. */
export interface Billed {
  readonly call: Call
  readonly bills: readonly Bill[]
  readonly status: number
  /** True if the client had hung up. */
  readonly isGone: boolean
}

/** Money in micro-dollars, as the provider's page says: each million tokens at its price, rounded up. */
const dollars = ({ input, output }: Bill): number =>
  Math.ceil((input * PRICE.input + output * PRICE.output) / 1_000_000)

export function judgeBills(
  calls: readonly Billed[],
  server: ServerJudge,
  { weather, wrappers }: Setting,
  accuse: (what: string) => void,
): void {
  const isCalm = weather.trouble === 0 && weather.incidentMs === 0 && weather.deathMs === 0
  // Calls that share a request are not told apart.
  if (!['plain', 'pipelined', 'cached', 'breaker'].includes(wrappers)) return
  for (const { call, bills, status, isGone } of calls) {
    if (bills.length > 1) accuse(`model call ${call.number} was sent ${bills.length} times`)
    const [bill] = bills
    const held = call.made
      .filter(({ isCharged }) => isCharged)
      .map(({ id }) => server.heldOf(id))
      .find((one) => one !== undefined)
    if (bill === undefined) {
      const isHeld =
        held?.state === 'open' && [...held.charges.values()].some(({ units }) => units > 0)
      if (isCalm && isHeld && !isGone) accuse(`model call ${call.number} was not sent, and is held`)
      continue
    }
    // Lost with the data of Redis, or allowed without it.
    if (held === undefined) continue
    if (isCalm && bill.isWhole && !isGone && held.state !== 'settled') {
      accuse(`model call ${call.number}, answered with ${status}, is ${held.state}, not settled`)
    }
    if (held.state === 'released') continue
    for (const { rule, units, enforced } of held.charges.values()) {
      const used =
        rule.unit === 'token' ? bill.input + bill.output : rule.unit === 'usd' ? dollars(bill) : 0
      const isRefused = bill.isRefused && held.state === 'settled'
      // Without the store a process grants by itself, and what arrives late holds less.
      const isSure = isCalm || held.state === 'settled'
      // A shadow is charged no more than it has room for.
      if (isSure && enforced && !isRefused && units < used) {
        accuse(
          `model call ${call.number} cost ${used} ${rule.unit}, and ${rule.name} holds ${units}`,
        )
      }
      // Without the store, it is not known that the store has charged a shadow.
      const isKnown = enforced || isCalm
      const isExact = held.state === 'settled' && bill.isWhole && !isGone && isKnown
      if (isExact && used > 0 && units !== used) {
        accuse(`model call ${call.number} used ${used} ${rule.unit}, settled with ${units}`)
      }
    }
  }
}
