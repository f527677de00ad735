import type { Limiter } from '@sluice/core'
import { errorAnswer } from '../errors.ts'
import type { Html } from './html.ts'
import { limitsView, type Member } from './limits-view.ts'
import { parseQuery, type Scope } from './query.ts'
import { readSpend } from './read-spend.ts'
import { spendView } from './spend-view.ts'
import { orUnavailable, usageAnswer } from './usage-api.ts'

/** Answers the request of an operator, who may see what `scope` allows. */
type OperatorHandler = (request: Request, limiter: Limiter, scope: Scope) => Promise<Response>

/** Answers the part of the page that has the sums. */
const viewAnswer: OperatorHandler = async (request, limiter, scope) => {
  const query = parseQuery(new URL(request.url).searchParams, Date.now())
  if (typeof query === 'string') return errorAnswer(400, 'invalid_query', query)
  return orUnavailable(async () => {
    return markup(spendView(query, await readSpend(limiter, query, [query.by, ['day']], scope)))
  })
}

/** Answers the part of the page that has the limits of one member. */
const limitsAnswer: OperatorHandler = (request, limiter, scope) => {
  const member = Object.fromEntries(new URL(request.url).searchParams) as Member
  return orUnavailable(async () => markup(await limitsView(limiter, member, scope)))
}

const markup = ({ html }: Html): Response =>
  new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  })

/** The addresses of usage, which need the key of an operator. */
export const SPEND_ADDRESSES: ReadonlyMap<string, OperatorHandler> = new Map([
  ['/admin/usage', usageAnswer],
  ['/admin/spend/view', viewAnswer],
  ['/admin/spend/limits', limitsAnswer],
])
