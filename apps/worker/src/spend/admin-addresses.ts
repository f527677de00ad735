import { ConfigError, type Limiter } from '@sluice/core'
import { errorAnswer } from '../errors.ts'
import type { Html } from './html.ts'
import { limitsView, type Member } from './limits-view.ts'
import { spendPage } from './page.ts'
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
    const [rows = [], days = []] = await readSpend(limiter, query, [query.by, ['day']], scope)
    return markup(spendView(query, rows, days))
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

const ADDRESSES: ReadonlyMap<string, OperatorHandler> = new Map([
  ['/admin/usage', usageAnswer],
  ['/admin/spend/view', viewAnswer],
  ['/admin/spend/limits', limitsAnswer],
])

const PAGE = '/admin/spend'
const MIN_KEY_LENGTH = 32

/**
 * Returns a function that finds the handler of an address of the operator. The page has no data; all else needs the key.
 *
 * @throws ConfigError When the key is short.
 */
export function adminAddresses(
  limiter: Limiter,
  key: string | undefined,
): (path: string) => ((request: Request) => Response | Promise<Response>) | undefined {
  if (!key) return () => undefined
  if (key.length < MIN_KEY_LENGTH) {
    const rule = `must be a secret of ${MIN_KEY_LENGTH} characters or more`
    throw new ConfigError('invalid_option', 'ADMIN_KEY', rule)
  }
  return (path) => {
    if (path === PAGE) return spendPage
    const answer = ADDRESSES.get(path)
    if (!answer) return undefined
    return async (request) =>
      (await hasKey(request, key)) ? answer(request, limiter, {}) : UNAUTHORIZED()
  }
}

const UNAUTHORIZED = (): Response =>
  errorAnswer(401, 'invalid_admin_key', 'Send the key of the operator.', {
    'www-authenticate': 'Bearer',
  })

/** Compares hashes: how long it takes tells nothing about the key. */
async function hasKey({ headers }: Request, key: string): Promise<boolean> {
  const sent = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  const [own, other] = await Promise.all([key, sent].map(hashOf))
  return own === other
}

async function hashOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return new Uint8Array(bytes).join()
}
