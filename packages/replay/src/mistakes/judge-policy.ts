import type { PolicyRule } from '@sluice/core'
import { durationText, unitsText } from '@sluice/core/internal/text'
import type { PolicyReport } from '../simulation/report-types.ts'
import type { SubjectLimits } from './subjects.ts'

/** Fewer calls say little about a limit. */
const FEW_CALLS = 10

/** A policy that denies more than this share of its calls is not a limit but a wall. */
const MOST = 0.5

/** Returns the first mistake of a policy by itself. */
export function judgePolicy(
  rule: PolicyRule,
  report: PolicyReport | undefined,
  limits: readonly SubjectLimits[],
): string | undefined {
  return (
    judgeZero(rule, limits) ??
    judgeCost(rule, limits) ??
    judgeWindow(rule) ??
    judgePartition(rule, report) ??
    judgeShare(rule, report, limits)
  )
}

function judgeZero({ name }: PolicyRule, limits: readonly SubjectLimits[]): string | undefined {
  const zero = limits.filter(({ policies }) =>
    policies.some((state) => state.name === name && state.enforced && state.limit === 0),
  )
  if (zero.length === 0) return undefined
  const calls = zero.reduce((sum, own) => sum + own.calls, 0)
  return `${name} has a limit of 0 for ${namesOf(zero)}, which denies all ${calls} of these calls: write 'unlimited' for no limit, or null for the one of the code.`
}

/** A budget that is smaller than a call denies it whenever it comes. */
function judgeCost(
  { name, unit }: PolicyRule,
  limits: readonly SubjectLimits[],
): string | undefined {
  if (unit === 'request') return undefined
  const small = limits.filter(({ policies, least }) =>
    policies.some(
      (state) => state.name === name && state.enforced && state.burst < (least[unit] ?? 0),
    ),
  )
  const [first] = small
  const state = first?.policies.find((one) => one.name === name)
  const calls = small.reduce((sum, own) => sum + own.calls, 0)
  if (!first || !state || calls < FEW_CALLS) return undefined
  const [limit, cost] = [state.burst, first.least[unit] ?? 0].map((units) => unitsText(units, unit))
  const models = [...new Set(small.map(({ call }) => call.subject.model ?? 'no model'))]
  const remedy =
    unit === 'usd'
      ? 'raise it; dollars are written usd(20), which is 20,000,000 micro-dollars'
      : 'raise it'
  return `${name} allows ${limit}, less than one call of ${listOf(models)} (${cost}), and denies all ${calls} of these calls: ${remedy}.`
}

/** Words of a policy's name that say its window, in milliseconds. */
const WINDOWS: readonly (readonly [words: RegExp, text: string, ms: number])[] = [
  [/^(rps|tps|second)$/, '1s', 1_000],
  [/^(rpm|tpm|minute)$/, '1m', 60_000],
  [/^(rph|tph|hour|hourly)$/, '1h', 3_600_000],
  [/^(rpd|tpd|day|daily)$/, '1d', 86_400_000],
]

function judgeWindow({ name, windowMs }: PolicyRule): string | undefined {
  const words = name.toLowerCase().split(/[^a-z]+/)
  const named = WINDOWS.filter(([pattern]) => words.some((word) => pattern.test(word)))
  const [window] = named
  if (!window || named.length > 1 || window[2] === windowMs) return undefined
  return `${name} has a window of ${durationText(windowMs)}, and its name says ${window[1]}: write window: '${window[1]}', or name it otherwise.`
}

/** Dimensions of which each value is somebody. */
const OWNERS: ReadonlySet<string> = new Set(['tenant', 'user', 'ip', 'key', 'project'])

function judgePartition(
  { name, per }: PolicyRule,
  report: PolicyReport | undefined,
): string | undefined {
  if (per === 'global' || per.some((one) => OWNERS.has(one)) || !report || report.tenants < 2) {
    return undefined
  }
  return `${name} counts all tenants together (per: ${per.join('+')}), and has denied calls of ${report.tenants} of them: write per: ['tenant'] for a limit of each.`
}

function judgeShare(
  { name, unit }: PolicyRule,
  report: PolicyReport | undefined,
  limits: readonly SubjectLimits[],
): string | undefined {
  if (!report || report.calls < FEW_CALLS || report.denied <= report.calls * MOST) return undefined
  const states = limits.flatMap(({ policies }) => policies.filter((state) => state.name === name))
  const least = Math.min(...states.map(({ limit }) => limit))
  const share = Math.floor((report.denied / report.calls) * 100)
  const remedy = unit === 'usd' ? 'raise it, if it is not in cents by mistake' : 'raise it'
  return `${name} denies ${share} % of its calls (${report.denied} of ${report.calls}), with a limit of ${unitsText(least, unit)}: ${remedy}.`
}

const namesOf = (limits: readonly SubjectLimits[]): string =>
  listOf([...new Set(limits.map(({ call }) => call.subject.tenant))])

const listOf = ([first = '', ...others]: readonly string[]): string =>
  others.length === 0 ? first : `${first} and ${others.length} more`
