import { InputError, definitionOf, type Limiter } from '@sluice/core'
import { explain, explanationText } from '@sluice/core/explain'
import { askerText, asksText } from '@sluice/core/internal/text'
import { latestDeniedCost } from '@sluice/usage/denials'
import { topUsers, topUsersText } from '@sluice/usage/report'
import type { QuestionParts, WhyQuestion } from './answer.ts'

/** Explains the decision that a request would get now. The subject has the dimensions that the limiter counts by. */
export async function explainNow(
  limiter: Limiter,
  { tenant, subject: others = {}, cost = {} }: WhyQuestion,
  by: string,
): Promise<string> {
  const { dimensions, plans, units } = partsOf(limiter, by)
  const { plan = '' } = others
  const subject = Object.fromEntries([
    [by, tenant],
    ...dimensions.flatMap((name) => (others[name] === undefined ? [] : [[name, others[name]]])),
    ...(plans.includes(plan) ? [['plan', plan]] : []),
  ]) as Readonly<Record<string, string>>
  const each = Object.fromEntries(units.map((unit) => [unit, 1] as const))
  try {
    const isGiven = Object.keys(cost).length > 0
    const denied = isGiven ? undefined : await latestDeniedCost(limiter, subject, by)
    const asked = { ...each, ...denied?.cost, ...cost }
    const explanation = await explain(limiter, subject, { cost: asked })
    const users = await topUsers(limiter, explanation.decision, tenant)
    const used = users ? topUsersText(users) : HOW_TO_RECORD
    const texts = [
      askerText(subject, explanation.decision.plan),
      asksText(asked, denied?.at),
      explanationText(explanation),
      used,
    ]
    return texts.filter((text) => text !== '').join('\n')
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const { code, input, reason } = error
    return code === 'missing_dimension'
      ? `A policy counts by ${input.replace(/^subject\./, '')}: fill it in.`
      : `${input} ${reason}.`
  }
}

const HOW_TO_RECORD =
  'To see who has used it up, add recordUsage() of @sluice/usage to the extensions of the limiter.'

/** Returns the parts that a question to a limiter may have. */
export function partsOf(limiter: Limiter, by: string): QuestionParts {
  const { rules, plans } = definitionOf(limiter)
  const dimensions = rules.flatMap(({ per, routes }) => [
    ...(routes ? ['route'] : []),
    ...(per === 'global' ? [] : per),
  ])
  return {
    dimensions: [...new Set(dimensions)].filter((name) => name !== by && name !== 'plan'),
    plans: plans?.names ?? [],
    units: [...new Set(rules.map(({ unit }) => unit))],
  }
}
