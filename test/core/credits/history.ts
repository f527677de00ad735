/* Random histories of a balance. */
import { DAY, HOUR } from '../../support/times.ts'
import type { GrantStep, Oracle } from './oracle.ts'
import type { Terms } from './oracle-books.ts'
import type { OraclePlayer } from './oracle-player.ts'

/** A balance in the words of the oracle. */
export type Seen = ReturnType<Oracle['look']>

export type Random = (below: number) => number

/** A source of numbers below a bound, the same for the same seed. */
export function randomFrom(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

/** A version of the app: what it calls the policy, and its terms. */
export interface Deploy {
  readonly name: string
  readonly terms: Terms
}

/** A step of a history. Each is of one of the deploys, or of time. */
export type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | ({ readonly deploy: number } & (
      | { readonly do: 'check'; readonly units: number }
      | { readonly do: 'peek'; readonly units: number }
      | {
          readonly do: 'reserve'
          readonly id: string
          readonly units: number
          readonly within: number
        }
      | { readonly do: 'settle'; readonly id: string; readonly used: number | 'cancel' }
      | { readonly do: 'settle hold'; readonly id: string; readonly used: number }
      | ({ readonly do: 'grant' } & GrantStep)
      | { readonly do: 'adjust'; readonly id: string; readonly units: number; readonly at: number }
      | { readonly do: 'revoke'; readonly id: string; readonly owes: boolean }
      | { readonly do: 'reset' }
    ))

/** A player answers a step, and tells the balance after it as one of the deploys reads it. */
export interface Player {
  play(step: Step): Promise<unknown>
  look(deploy: number): Promise<Seen>
}

/** Draws the versions of an app that runs: at most three, of one ledger. */
export function drawDeploys(random: Random): Deploy[] {
  const every = [{ hoursAhead: 0 }, { hoursAhead: 9 }, 'month'] as const
  const period = every[random(3)] as (typeof every)[number]
  const hasAllowance = random(3) > 0
  const releases = random(2) === 0
  return Array.from({ length: 1 + random(3) }, (_, index) => ({
    name: ['credits', 'money', 'credits'][random(3)] as string,
    terms: {
      // A deploy may change what becomes of unsettled reservations, or drop the allowance.
      releases: index > 0 && random(4) === 0 ? !releases : releases,
      ...(hasAllowance !== (index > 0 && random(6) === 0) && {
        included: { every: period, amount: random(5) * 15, rollover: random(2) * random(60) },
      }),
    },
  }))
}

/** The law: nothing comes to a balance or leaves it but by what is booked. */
export function isLawful(seen: Seen): boolean {
  const { granted, adjusted, revoked, expired, settled } = seen.totals
  const { held, abandoned, balance: left, lots, holds, debt, available } = seen
  const booked = granted + adjusted - revoked - expired - settled - held - abandoned
  const inLots = lots.reduce((sum, lot) => sum + (lot[1] as number), 0)
  const inHolds = holds.reduce((sum, hold) => sum + (hold[1] as number), 0)
  return booked === left && inLots - debt === left && inHolds === held + abandoned && available >= 0
}

/** Draws the next step, by what the oracle has seen so far. */
export function drawStep(random: Random, player: OraclePlayer, deploys: number): Step {
  const { oracle, open, now } = player
  const deploy = random(deploys)
  const pick = <T>(all: readonly T[]): T | undefined => all[random(all.length)]
  const fresh = (start: string): string => `${start}${oracle.ids.size}x${open.size}x${random(1e6)}`
  const step = random(20)
  if (step < 3) {
    const known = random(3) === 0 ? pick([...oracle.ids.keys()]) : undefined
    const units = 1 + random(60)
    if (known !== undefined) return { do: 'grant', deploy, ...repeated(random, player, known) }
    // Few times, so that lots merge.
    const from = random(3) === 0 ? roundUp(now + random(12) * HOUR, 2 * HOUR) : 0
    const until = random(2) === 0 ? Infinity : roundUp(now + (17 + random(40)) * HOUR, 12 * HOUR)
    const at = random(20) === 0 ? now - 90 * DAY - 1 : now - random(DAY)
    const kind = random(2) === 0 ? 'paid' : 'promotional'
    const facts = { priority: random(3) * 50, from, until, kind } as const
    return { do: 'grant', deploy, id: fresh('g'), units, at, ...facts }
  }
  if (step === 3) {
    const id = random(10) === 0 ? 'unknown' : (pick([...oracle.ids.keys()]) ?? 'unknown')
    return { do: 'revoke', deploy, id, owes: random(2) === 0 }
  }
  if (step === 4) {
    const units = (1 + random(30)) * (random(2) === 0 ? 1 : -1)
    return { do: 'adjust', deploy, id: fresh('a'), units, at: now }
  }
  if (step < 7) return { do: 'check', deploy, units: random(30) }
  if (step === 7) return { do: random(4) === 0 ? 'reset' : 'peek', deploy, units: random(60) }
  if (step < 12) {
    const within = (1 + random(6)) * HOUR
    return { do: 'reserve', deploy, id: fresh('r').toLowerCase(), units: random(50), within }
  }
  if (step < 16) {
    // A mark ends by the machine's clock in Redis: no settlement is later than a mark by the injected one.
    const known = [...open].filter(([, one]) => now < one.at + one.within + 20 * HOUR)
    const unsettled = known.filter(([, { settledAt }]) => settledAt === undefined)
    const again = known.filter(([, { settledAt }]) => settledAt === now)
    const [id] = pick(random(8) === 0 ? again : unsettled) ?? []
    const used = random(6) === 0 ? 'cancel' : random(random(3) === 0 ? 90 : 30)
    if (id !== undefined) return { do: 'settle', deploy, id, used }
  }
  if (step === 16) {
    const id = pick(oracle.holds)?.id ?? 'none'
    return { do: 'settle hold', deploy, id, used: random(40) }
  }
  // A millisecond decides who is in time.
  const { until } = oracle.allowance
  const moments = [
    ...oracle.holds.map(({ due }) => due),
    ...oracle.lots.flatMap((lot) => (lot.left > 0 ? [lot.from, lot.until] : [])),
    until,
  ].filter((at) => at > now + 1 && at < now + 2 * DAY)
  const moment = random(3) === 0 ? pick(moments) : undefined
  if (moment !== undefined) return { do: 'wait', ms: moment - now - random(2) }
  return { do: 'wait', ms: random(3) === 0 ? random(2 * DAY) : random(3 * HOUR) }
}

/** A grant that comes again: as it was, or with another amount. */
function repeated(random: Random, { oracle, now }: OraclePlayer, id: string): GrantStep {
  const { units, lot } = oracle.ids.get(id)!
  const facts = lot ?? { priority: 100, from: 0, until: Infinity, kind: 'paid' as const }
  return { id, at: now, ...facts, units: Math.abs(units) + (random(4) === 0 ? 1 : 0) }
}

const roundUp = (at: number, ms: number): number => Math.ceil(at / ms) * ms
