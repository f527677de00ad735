/* Holds what callers were told of their reservations, and what leases have served, to what Redis has charged. */
import type { Setting } from '../setting.ts'
import type { Call, CallerTally } from './caller-judge.ts'
import type { ServerJudge } from './server-judge.ts'

export class ReservationJudge {
  /** Units that isolates have served of leased policies, by policy. */
  readonly #served = new Map<string, number>()
  /** The reservations that callers know of. */
  readonly known = new Set<string>()
  /** The units that leases have served of reservations that are not settled. */
  readonly #leasedCalls = new Map<string, readonly { policy: string; units: number }[]>()
  readonly #setting: Setting
  readonly #server: ServerJudge
  readonly #tally: CallerTally
  readonly #accuse: (what: string) => void

  constructor(
    setting: Setting,
    server: ServerJudge,
    tally: CallerTally,
    accuse: (what: string) => void,
  ) {
    this.#setting = setting
    this.#server = server
    this.#tally = tally
    this.#accuse = accuse
  }

  /** Judges a reservation that a caller was given. */
  reserved(
    call: Call,
    id: string,
    charges: readonly { policy: string; key: string; units: number }[],
    losses: number,
  ) {
    this.#tally.reserved += 1
    if (this.known.has(id)) this.#accuse(`two reservations have the id ${id}`)
    this.known.add(id)
    const held = this.#server.heldOf(id)
    const isThere = (key: string): boolean =>
      held !== undefined && [...held.charges.values()].some((charge) => charge.key.endsWith(key))
    const fromLeases = this.#setting.leasesCalls
      ? charges.filter(({ policy, key }) => this.#unitOf(policy) !== undefined && !isThere(key))
      : []
    if (losses === call.losses) {
      for (const { policy, units } of fromLeases) this.serve(policy, units)
      this.#leasedCalls.set(id, fromLeases)
      this.#tally.leased += fromLeases.length
    }
    if (held === undefined) {
      if (losses === call.losses && charges.length > fromLeases.length)
        this.#accuse(`Redis knows nothing of reservation ${id}`)
      return
    }
    // A line counts no units, so what it was asked for may be noted.
    const counted = charges.filter(({ policy }) => !policy.endsWith('.line'))
    for (const { key, units } of counted.filter((charge) => !fromLeases.includes(charge))) {
      const same = [...held.charges.values()].filter((charge) => charge.key.endsWith(key))
      if (held.state === 'open' && !same.some((charge) => charge.units === units) && units > 0) {
        this.#accuse(
          `a reservation was told ${units} units, and Redis holds ${same.map((one) => one.units).join()}`,
        )
      }
    }
  }

  /** Counts units that leases have served. */
  serve(policy: string, units: number): void {
    this.#served.set(policy, (this.#served.get(policy) ?? 0) + units)
  }

  /** The unit of a leased policy. */
  #unitOf(policy: string): string | undefined {
    const rules = this.#setting.deployments.flatMap((deployment) => deployment.rules)
    return rules.find(({ name, leaseMs }) => name === policy && leaseMs > 0)?.unit
  }

  /** Judges the outcome of a settlement. */
  settled(
    id: string,
    applied: boolean,
    timesApplied: number,
    hasLost: boolean,
    used: Readonly<Record<string, number>>,
  ): void {
    if (!applied) return
    this.#tally.settled += 1
    for (const { policy, units } of this.#leasedCalls.get(id) ?? []) {
      this.serve(policy, (used[this.#unitOf(policy) ?? ''] ?? units) - units)
    }
    this.#leasedCalls.delete(id)
    // A replica that lags knows nothing of the first time.
    if (timesApplied > 1 && !hasLost)
      this.#accuse(`reservation ${id} was settled ${timesApplied} times`)
    const held = this.#server.heldOf(id)
    if (held && held.state !== 'settled' && !hasLost)
      this.#accuse(`reservation ${id} is ${held.state}, not settled`)
  }

  /** Notes a settlement of which no answer came: it may have given back what leases have served. */
  unsure(id: string, used: Readonly<Record<string, number>>): void {
    for (const { policy, units } of this.#leasedCalls.get(id) ?? []) {
      const more = (used[this.#unitOf(policy) ?? ''] ?? units) - units
      this.serve(policy, Math.min(0, more))
    }
    this.#leasedCalls.delete(id)
  }

  /** Judges the whole at the end: no more was served from leases than Redis has charged for them. */
  end(charged: ReadonlyMap<string, number>): void {
    for (const [name, units] of this.#served) {
      const most = charged.get(name) ?? 0
      if (units > most) this.#accuse(`${units} units of ${name} were served, of ${most} charged`)
    }
  }
}
