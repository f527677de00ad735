import type { Finding } from '../algorithms/algorithm.ts'
import type { Cost } from '../cost.ts'
import type { LuaFitKind, ScriptPart } from '../lua/twins.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry, Fit } from '../stores/store.ts'
import type { ConfigError } from '../errors.ts'
import {
  assertKnownOptions,
  assertPositiveInteger,
  invalidOption,
  isUnits,
  MUST_BE_UNITS,
} from '../internal/validation.ts'
import {
  availableTo,
  chargeOf,
  costOf,
  checkFitArguments,
  fitArgument,
  isEnforced,
  isShadow,
} from '../lua/expressions.ts'

/** Options of `fitRange`. */
export interface FitRangeOptions<Unit extends string = string> {
  /** The smallest quantity that is worth the call. If it does not fit, the call is denied. */
  readonly floor: number
  /** The largest quantity to grant. */
  readonly most: number
  /**
   * The quantity above which no more is granted than a quarter of what is left has room for, so that one call leaves room
   * for others. From `floor` to `most`. @default most
   */
  readonly usual?: number | undefined
  /** For each unit, the units that a million of the quantity cost: whole numbers. */
  readonly rates: Readonly<Partial<Record<Unit, number>>>
}

/** A range of which `reserve` grants the most that fits. Created by `fitRange`. */
export interface FitRange<out Unit extends string = string> extends Fit<Numbers> {
  /** Adds the cost of the floor to the rest of a call's cost. */
  costAtFloor(cost: Cost | undefined): Cost
  /** For the compiler alone; never set. */
  readonly '~unit'?: Unit | undefined
}

/** Rates are per so many of the quantity, so that a price below a micro-dollar is a whole number. */
const PER = 1_000_000

/** Of what is left, one part of so many may be granted above the usual quantity. */
const PARTS = 4

/** The largest product of a quantity and a rate: far enough below 2^53 that quotients round alike. */
const MAX_PRODUCT = 2 ** 52

/**
 * Creates a range of quantities, such as output tokens, for `reserve`: the decision grants the largest
 * that every enforced policy has room for, in the same atomic step, and charges exactly that.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const fit = fitRange({ floor: 256, most: 4_096, rates: { token: 1_000_000, usd: 10_000_000 } })
 * const call = await reserve(limiter, { tenant: 'acme' }, { cost: { token: 1_200, usd: 3_000 }, fit })
 * if (call.allowed) await callModel({ maxTokens: call.granted })
 */
export function fitRange<const Unit extends string>(
  options: FitRangeOptions<Unit>,
): FitRange<Unit> {
  const { floor, most, usual, rates } = validate(options)
  return {
    kind: RANGE,
    floor,
    most,
    data: { usual, rates: Object.fromEntries(rates) },

    costAtFloor(cost) {
      const sum: Record<string, number | undefined> =
        typeof cost === 'number' ? { request: cost } : { ...cost }
      for (const [unit, rate] of rates) sum[unit] = (sum[unit] ?? 0) + units(floor, rate)
      return sum
    },
  }
}

/** The numbers of a range beside its bounds. */
interface Numbers {
  readonly usual: number
  /** The units that a million of the quantity cost, by unit. */
  readonly rates: Readonly<Record<string, number>>
}

export const RANGE: LuaFitKind<Numbers> = {
  name: 'range',

  grant(fit, entries, findings) {
    const bounds = entries.map((entry, index) =>
      entry.enforced ? bound(fit, entry, findings[index] as Finding) : fit.most,
    )
    return Math.min(fit.most, ...bounds)
  },

  charge(fit, entries, { verdicts, granted = verdicts.length > 0 ? fit.floor : fit.most }) {
    const bounds = entries.map((entry, index) => {
      const finding = verdicts[index]
      return finding ? bound(fit, entry, finding) : fit.most
    })
    return entries.map((entry) => {
      const rate = rateOf(fit, entry.policy)
      const quantity = quantityOf(entry, entries, bounds, granted)
      return { ...entry, cost: entry.cost + units(quantity, rate) - units(fit.floor, rate) }
    })
  },

  lua: {
    args: (fit, policies) =>
      [...policies.map((policy) => rateOf(fit, policy)), fit.floor, fit.most, fit.data.usual].map(
        String,
      ),
    grant: luaTwin,
  },
}

const rateOf = ({ data: { rates } }: Fit<Numbers>, { unit }: PolicyRule): number =>
  Object.hasOwn(rates, unit) ? (rates[unit] ?? 0) : 0

/** Returns the largest quantity to grant that an entry has room for. */
function bound(fit: Fit<Numbers>, { policy, cost }: Entry, { available }: Finding): number {
  const { floor, most, data } = fit
  const rate = rateOf(fit, policy)
  if (rate === 0) return most
  const room = available - cost + units(floor, rate)
  // Cut to the cost of all before it is multiplied, so that the product is exact.
  const quantity = (parts: number): number =>
    Math.floor((Math.min(Math.floor(room / parts), units(most, rate)) * PER) / rate)
  return Math.min(most, Math.max(floor, Math.min(data.usual, quantity(1)), quantity(PARTS)))
}

/** Returns the units that a quantity costs. */
const units = (quantity: number, rate: number): number => Math.ceil((quantity * rate) / PER)

/** Returns the quantity that an entry is charged for. */
function quantityOf(
  { key }: Entry,
  entries: readonly Entry[],
  bounds: readonly number[],
  granted: number,
): number {
  const sameKey = [...entries.keys()].filter((index) => entries[index]?.key === key)
  if (sameKey.some((index) => entries[index]?.enforced)) return granted
  return Math.min(granted, ...sameKey.map((index) => bounds[index] ?? granted))
}

/** The Lua twin of `grant` and `charge`. */
function luaTwin(parts: readonly ScriptPart[], groups: readonly (readonly number[])[]): string {
  const count = parts.length + 3
  const given = (place: number): string => fitArgument(place, count)
  const lower = (name: string, condition: string, part: ScriptPart): string => {
    const most = `bound(${costOf(part)}, ${availableTo(part)}, ${given(part.index)})`
    return `if ${condition} then ${name} = math.min(${name}, ${most}) end`
  }
  const grants = parts.map((part) => lower('granted', isEnforced(part), part))
  const charges = groups.map((positions, group) => {
    const sharing = positions.map((position) => parts[position] as ScriptPart)
    const charge = chargeOf(group)
    const rate = given(positions[0] ?? 0)
    return `if ${charge} then
  local quantity = granted
  if not (${sharing.map(isEnforced).join(' or ')}) then
    ${sharing.map((part) => lower('quantity', isShadow(part), part)).join('\n    ')}
  end
  ${charge} = ${charge} + units(quantity, ${rate}) - units(floor, ${rate})
end`
  })
  return `-- Grant.
local floor, most, usual = unpack(ARGV, #ARGV - 2)
${checkFitArguments(count)}
local granted = most + 0
local function units(quantity, rate) return math.ceil(quantity * rate / ${PER}) end
local function bound(cost, available, rate)
  if rate == '0' then return most end
  local room = available - cost + units(floor, rate)
  local function quantity(parts) return math.floor(math.min(math.floor(room / parts), units(most, rate)) * ${PER} / rate) end
  return math.min(most, math.max(floor, math.min(usual, quantity(1)), quantity(${PARTS})))
end
${grants.join('\n')}
${charges.join('\n')}`
}

function validate<Unit extends string>(options: FitRangeOptions<Unit>) {
  assertKnownOptions('fitRange', options, ['floor', 'most', 'usual', 'rates'])
  const floor = assertPositiveInteger('fitRange.floor', options.floor)
  const most = assertPositiveInteger('fitRange.most', options.most)
  if (floor > most) throw invalid('floor', 'must not be above most')
  const usual = assertPositiveInteger('fitRange.usual', options.usual ?? most)
  if (usual < floor || usual > most) throw invalid('usual', 'must be from floor to most')
  const rates = new Map<string, number>()
  for (const [unit, rate] of Object.entries<number | undefined>(options.rates ?? {})) {
    if (unit === 'request' || unit === 'call') {
      throw invalid(`rates.${unit}`, 'must be left out: a call has one, whatever its quantity')
    }
    if (!isUnits(rate)) throw invalid(`rates.${unit}`, MUST_BE_UNITS)
    if (rate * most > MAX_PRODUCT) throw invalid(`rates.${unit}`, 'times most must not exceed 2^52')
    rates.set(unit, rate)
  }
  if (rates.size === 0) throw invalid('rates', 'must name a unit, such as { token: 1_000_000 }')
  return { floor, most, usual, rates }
}

const invalid = (option: string, message: string): ConfigError =>
  invalidOption(`fitRange.${option}`, message)
