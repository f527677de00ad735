import type { ChoiceRow } from '../../rows.ts'
import { PERIOD_MS } from '../../hours.ts'
import type { Detector } from './finding.ts'
import { groupBy, sum } from './series.ts'
import { amount, isOneTenant, percent, timeName } from './words.ts'

/** The share of the calls that another model answers, and the least of them in the last 24 hours. */
const LEAST_SHARE = 0.95
const LEAST_CALLS = 50

/** Finds first choices that no call gets any more: their budget is too small, and the model asked for is only a name. */
export const passedOver: Detector = ({ hours: { choices = [], to } }) => {
  const from = to - PERIOD_MS.day
  const answered = choices.filter(
    ({ start, tenant, model }) => start >= from && isOneTenant(tenant) && model !== '',
  )
  const ladders = groupBy(answered, ({ tenant, asked }) => JSON.stringify([tenant, asked]))
  return [...ladders.values()].flatMap((rows) => {
    const [{ tenant, asked } = { tenant: '', asked: '' }] = rows
    // A later choice may be the same model with less output.
    const passed = rows.filter(({ model }) => model !== asked)
    const [all, others] = [callsOf(rows), callsOf(passed)]
    if (all < LEAST_CALLS || others < LEAST_SHARE * all) return []
    const model = mostOf(passed, (row) => row.model)
    const policy = mostOf(passed, (row) => row.policy)
    const why = policy === '' ? 'its provider failed' : `"${policy}" had no room`
    return {
      tenant,
      text: `${tenant} asked for ${asked} in ${amount(all, 'call')} in the 24 hours from ${timeName(from)}, and another model answered ${percent(others / all)} of them, most often ${model}: ${why}.`,
      evidence: { asked, model, policy, calls: all, share: others / all, from },
    }
  })
}

const callsOf = (rows: readonly ChoiceRow[]): number => sum(rows.map(({ requests }) => requests))

/** Returns the name that most calls have. */
function mostOf(rows: readonly ChoiceRow[], nameOf: (row: ChoiceRow) => string): string {
  const groups = [...groupBy(rows, nameOf)].map(([name, own]) => ({ name, calls: callsOf(own) }))
  return groups.toSorted((a, b) => b.calls - a.calls)[0]?.name ?? ''
}
