/* `sluice preview --denials`: what a change of limits decides of the denials that are recorded. */
import type { Limiter } from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import { amountText, nameText, timeText } from '@sluice/core/internal/text'
import { moreText, table } from '../format.ts'
import { noneText, recordedDenials } from '../recorded-denials.ts'

/** Decides the recorded denials of a tenant by the limits that a list of settings makes. */
export async function previewDenials(
  limiter: Limiter,
  tenant: string,
  desired: readonly DesiredEntry[],
  top: number,
): Promise<{ text: string; json: object; leftOut?: string }> {
  const { judgeDenials, policySet } = await import('@sluice/replay')
  const denials = await recordedDenials(limiter, tenant)
  if (denials.length === 0) {
    return { text: noneText(tenant), json: { tenant, allowed: 0, denied: 0, unknown: 0, denials } }
  }
  const { denyingText } = await import('@sluice/usage/denials')
  const set = policySet('file', { limiter, configuration: desired })
  const judged = (await judgeDenials(tenant, denials, set)).toReversed()
  const count = (verdict: string): number =>
    judged.filter(({ outcome }) => outcome === verdict).length
  const [allowed, denied, unknown] = [count('allowed'), count('denied'), count('unknown')]
  const [first, last] = [denials.at(-1)?.at ?? 0, denials[0]?.at ?? 0]
  const rows = judged
    .slice(0, top)
    .map(({ denial, outcome, by = '' }) => [
      timeText(denial.at),
      denial.id,
      denyingText(denial),
      { allowed: 'allowed', denied: `denied by ${by}`, unknown: `not known: ${by}` }[outcome],
    ])
  const text = [
    `Of ${amountText(judged.length, 'denial')} of ${nameText(tenant)} that ${judged.length === 1 ? 'is' : 'are'} recorded, ${timeText(first)} to ${timeText(last)}:`,
    `Allowed then: ${allowed}. Denied as now: ${denied}.`,
    '',
    table(['time', 'id', 'denied by', 'then'], rows),
    ...moreText(judged.length, top),
    '',
    'Each is decided by what was used when it was denied, and by those before it that are allowed then. More may have been denied than are recorded.',
  ].join('\n')
  const json = { tenant, allowed, denied, unknown, denials: judged }
  if (unknown === 0) return { text, json }
  const leftOut = `Left out: ${unknown} of ${amountText(judged.length, 'denial')}. It is not known what a policy decides that took no part then, or had another window or refill.`
  return { text, leftOut, json: { leftOut, ...json } }
}
