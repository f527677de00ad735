/* The bounds of a preview of sums, whose calls are known to an hour or a day only. */
import type { Bounds, ChangeBounds, DenialBounds } from '@sluice/replay'
import { amountText, nameText, timeText, unitsText } from '@sluice/core/internal/text'

export const BOUNDS_HEAD: readonly string[] = [
  'tenant',
  'at least',
  'at most',
  'dollars',
  'by',
  'since',
]

/** Returns the lines that say how many calls a change denies and allows. */
export function boundsSummary({ newlyDenied, nowAllowed }: ChangeBounds): string[] {
  const { calls, usd, tenants } = newlyDenied
  const of = `of ${tenants.length > 1 ? 'at most ' : ''}${amountText(tenants.length, 'tenant')}`
  return [
    calls.most === 0
      ? 'No call is denied that is allowed now, in any order of the calls.'
      : `Newly denied: ${between(calls)} ${of}${usd.most > 0 ? `, which cost ${dollarsBetween(usd)}` : ''}.`,
    `No longer denied: ${between(nowAllowed.calls)}.`,
  ]
}

export const boundsRows = ({ tenants }: DenialBounds, top: number): string[][] =>
  tenants
    .slice(0, top)
    .map(({ tenant, calls, usd, policy, since }) => [
      nameText(tenant),
      String(calls.least),
      String(calls.most),
      dollarsBetween(usd),
      policy,
      timeText(new Date(since)),
    ])

const between = ({ least, most }: Bounds): string =>
  least === most
    ? amountText(most, 'call')
    : `at least ${least} and at most ${amountText(most, 'call')}`

function dollarsBetween({ least, most }: Bounds): string {
  const [low, high] = [Math.floor(least / CENT), Math.ceil(most / CENT)].map((cents) =>
    unitsText(cents * CENT, 'usd'),
  )
  return low === high ? `${low}` : `${low} to ${high}`
}

/** Costs are estimates: whole cents say enough. */
const CENT = 10_000
