import { StoreError, type Limiter } from '@sluice/core'
import { usageCsv } from '@sluice/usage/report'
import { errorAnswer } from '../errors.ts'
import { parseQuery, type Scope } from './query.ts'
import { groupsOf, readSpend, totalOf } from './read-spend.ts'

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/**
 * Answers `/admin/usage?from=&to=&zone=&by=&tenant=&format=` with sums of what was recorded: JSON, or CSV with the columns of
 * `usageCsv`, in which names that were not asked for are empty.
 */
export async function usageAnswer(
  request: Request,
  limiter: Limiter,
  scope: Scope,
): Promise<Response> {
  const query = parseQuery(new URL(request.url).searchParams, Date.now())
  if (typeof query === 'string') return errorAnswer(400, 'invalid_query', query)
  const { first, last, zone, by, format } = query
  return orUnavailable(async () => {
    const { lists, notes } = await readSpend(limiter, query, [by], scope)
    const [rows = []] = lists
    if (format === 'csv') {
      return new Response(usageCsv(rows), {
        headers: {
          ...HEADERS,
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="usage-${first}.csv"`,
        },
      })
    }
    const groups = groupsOf(rows, by).map(({ names, ...spend }) => Object.assign({}, names, spend))
    const days = { from: first, to: last, zone, notes: zone === undefined ? undefined : notes }
    return Response.json({ ...days, by, total: totalOf(rows), rows: groups }, { headers: HEADERS })
  })
}

/** Answers 503 if the store fails. */
export async function orUnavailable(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return errorAnswer(503, 'store_unavailable', 'Usage cannot be read at the moment.', {
      'retry-after': '1',
    })
  }
}
