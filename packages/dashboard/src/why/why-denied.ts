import { StoreError, definitionOf, type Limiter } from '@sluice/core'
import { assertKnownOptions, assertName, invalidOption } from '@sluice/core/internal'
import type { AnswerWhy } from '../server/handler.ts'
import type { WhyAnswer, WhyQuestion } from './answer.ts'
import { explainNow, partsOf } from './now.ts'
import { parseQuestion } from './question.ts'
import { recordedText } from './recorded.ts'

/** Options of `whyDenied`. */
export interface WhyOptions {
  /** The dimension of subjects that names the tenant, as for `watch`. @default 'tenant' */
  readonly by?: string
}

/**
 * Creates the option `why` of `dashboardHandler`: the page can ask what denies a tenant now, and what a recorded denial
 * was. A question about now takes the calls of `explain`; nothing is called until somebody asks.
 *
 * @param limiters The limiters, each by its name on the dashboard.
 * @throws ConfigError When there is no limiter, or `createLimiter` has not created it.
 * @example
 * export const GET = dashboardHandler(dashboard, { authorize: isAdmin, why: whyDenied({ api: limiter }) })
 */
export function whyDenied(
  limiters: Readonly<Record<string, Limiter>>,
  options: WhyOptions = {},
): AnswerWhy {
  assertKnownOptions('whyDenied', options, ['by'])
  const { by = 'tenant' } = options
  assertName('whyDenied.by', by)
  const all = new Map(Object.entries(limiters ?? {}))
  const [first] = [...all]
  if (!first) {
    throw invalidOption('whyDenied', 'needs a limiter, such as { api: limiter }')
  }
  const names = [...all.keys()]
  // Each must be a limiter.
  for (const limiter of all.values()) definitionOf(limiter)

  const answer = async (question: WhyQuestion): Promise<WhyAnswer> => {
    const { tenant, id, limiter: wanted = first[0] } = question
    const [name, limiter] = [...all].find(([one]) => one === wanted) ?? first
    const form = { limiter: name, limiters: names, ...partsOf(limiter, by) }
    if (id !== undefined) return { text: await recordedText(all, tenant, id, by), ...form }
    if (name !== wanted) return { text: unknownText(wanted, names), ...form }
    return { text: await explainNow(limiter, question, by), ...form }
  }

  return async (text) => {
    const question = parseQuestion(text)
    if (!question) return respond(400, { message: 'Ask as the page does.' })
    try {
      return respond(200, await answer(question))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return respond(503, { message: `The store does not answer (${error.code}). Try again.` })
    }
  }
}

const unknownText = (name: string, names: readonly string[]): string =>
  `whyDenied has no limiter "${name}", but ${names.join(', ')}. Give each the name that it has in watch().`

const respond = (status: number, answer: WhyAnswer | { readonly message: string }): Response =>
  Response.json(answer, { status, headers: { 'cache-control': 'no-store' } })
