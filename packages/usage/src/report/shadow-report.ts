import type { PolicyUsageRow, Usage } from '../rows.ts'
import { groupBy, sum } from './findings/series.ts'
import { amount, localName, percent, timeName } from './findings/words.ts'

/** Counts of requests that a policy in shadow would have denied. */
interface ShadowCounts {
  /** The allowed requests that the policy took part in while it was in shadow. */
  readonly requests: number
  /** The ones among them that it would have denied. */
  readonly denied: number
  /** `denied` as a share of `requests`. */
  readonly share: number
  /** The tokens of the requests that it would have denied, as estimated. */
  readonly tokens: number
  /** Their micro-dollars, as estimated. */
  readonly usd: number
}

/** One policy in shadow. */
export interface ShadowPolicy extends ShadowCounts {
  readonly policy: string
  /** By tenant, the most denials first. Tenants that it would have denied nothing are left out. */
  readonly tenants: readonly (ShadowCounts & { readonly tenant: string })[]
  /** By hour, day or other period, in order. Those in which it would have denied nothing are left out. */
  readonly times: readonly (ShadowCounts & Pick<PolicyUsageRow, 'start' | 'startsAt'>)[]
}

/** The denials that policies in shadow would have made: plain data for `JSON.stringify`. */
export interface ShadowReport extends Pick<Usage, 'by' | 'from' | 'to' | 'calendar'> {
  readonly policies: readonly ShadowPolicy[]
}

/**
 * Reports what each policy in shadow would have denied, by tenant and time. A request that another policy denied does
 * not count.
 *
 * @example
 * const report = shadowReport(await usage(limiter))
 * console.log(shadowText(report))
 */
export function shadowReport({ by, from, to, policies, calendar }: Usage): ShadowReport {
  const rows = policies.filter(({ shadowRequests }) => shadowRequests > 0)
  const reports = Array.from(
    groupBy(rows, ({ policy }) => policy),
    ([policy, ofPolicy]) => ({
      policy,
      ...countsOf(ofPolicy),
      tenants: deniedBy(ofPolicy, ({ tenant }) => ({ tenant })).toSorted(
        (a, b) => b.denied - a.denied,
      ),
      times: deniedBy(ofPolicy, timesOf).toSorted((a, b) => a.start - b.start),
    }),
  )
  return { by, from, to, ...(calendar && { calendar }), policies: reports }
}

/** Writes a shadow report as text. */
export function shadowText({ from, to, by, policies, calendar }: ShadowReport): string {
  const range = calendar
    ? `From ${localName(calendar.startsAt)} to ${localName(calendar.endsAt)} (${calendar.zone})`
    : `From ${timeName(from)} to ${timeName(to)} (UTC)`
  const lines = [range]
  if (policies.length === 0) lines.push('No policy was in shadow.')
  for (const { policy, tenants, times, ...counts } of policies) {
    lines.push('', `"${policy}" ${countsText(counts)}`)
    lines.push(
      ...tenants.map(({ tenant, ...each }) => `  ${tenant || '(no tenant)'} ${countsText(each)}`),
    )
    const [worst] = times.toSorted((a, b) => b.denied - a.denied)
    if (worst)
      lines.push(
        `  Most in the ${by} from ${worst.startsAt === undefined ? timeName(worst.start) : localName(worst.startsAt)}: ${worst.denied}`,
      )
  }
  return `${lines.join('\n')}\n`
}

const timesOf = ({
  start,
  startsAt,
}: PolicyUsageRow): Pick<PolicyUsageRow, 'start' | 'startsAt'> =>
  startsAt === undefined ? { start } : { start, startsAt }

function countsText({ requests, denied, share, tokens, usd }: ShadowCounts): string {
  const spared = [tokens > 0 && amount(tokens, 'token'), usd > 0 && amount(usd, 'usd')]
  const sparing = spared.filter(Boolean).join(', ')
  const text = `would have denied ${denied.toLocaleString('en-US')} of ${amount(requests, 'request')} (${percent(share)})`
  return sparing === '' ? text : `${text}: ${sparing}`
}

/** Counts rows that have the same key, and leaves out those without a denial. */
function deniedBy<Key extends object>(
  rows: readonly PolicyUsageRow[],
  keyOf: (row: PolicyUsageRow) => Key,
): (Key & ShadowCounts)[] {
  const groups = groupBy(rows, (row) => JSON.stringify(keyOf(row)))
  return Array.from(groups, ([key, group]) =>
    Object.assign(JSON.parse(key) as Key, countsOf(group)),
  ).filter(({ denied }) => denied > 0)
}

function countsOf(rows: readonly PolicyUsageRow[]): ShadowCounts {
  const requests = sum(rows.map((row) => row.shadowRequests))
  const denied = sum(rows.map((row) => row.shadowDenied))
  return {
    requests,
    denied,
    share: denied / requests,
    tokens: sum(rows.map((row) => row.shadowTokens)),
    usd: sum(rows.map((row) => row.shadowUsd)),
  }
}
