import type { ConfigError } from '@sluice/core'
import { assertFunction, assertKnownOptions, invalidOption } from '@sluice/core/internal'
import { stateOf, type Dashboard } from './dashboard.ts'
import { isOfAnotherSite } from './site.ts'
import { streamView } from './stream.ts'
import { takeRecords } from './take-records.ts'

/** Options of `dashboardHandler`. */
export interface HandlerOptions {
  /**
   * Returns true if the request may see every tenant's counts, or, better, the name of the administrator whose session
   * it has: each name may have 10 streams, so that nobody's tabs use up those of all. `'development'` shows the counts
   * to requests from this machine to this machine while `NODE_ENV` is `development`, and to nobody elsewhere.
   */
  readonly authorize:
    ((request: Request) => boolean | string | Promise<boolean | string>) | 'development'
  /** The key of `relay`, with which other processes send their records by POST. @default none is taken */
  readonly relayKey?: string | undefined
  /**
   * Answers why a tenant is denied: `whyDenied` of `@sluice/dashboard/why`. @default the page names the command instead
   */
  readonly why?: AnswerWhy | undefined
}

/** Answers the question of a page, which is JSON. */
export type AnswerWhy = (question: string) => Promise<Response>

/** The most streams at once. Each costs a timer and a connection. */
const MAX_STREAMS = 100
/** The most streams of one name. */
const MAX_STREAMS_EACH = 10
const MIN_KEY_LENGTH = 32

const CANNOT_ASK =
  'This page cannot ask the limiter. Run "npx @sluice/cli why --tenant NAME", or give dashboardHandler the option why: whyDenied({ api: limiter }) of @sluice/dashboard/why.'

/**
 * Creates a handler that streams a dashboard to browsers as server-sent events, for
 * `<Dashboard url="…" />` of `@sluice/dashboard/react`. There is no way to leave it open: `authorize` is
 * required. Streams and questions are for pages of the same site.
 *
 * @throws ConfigError When `authorize` is missing, or `relayKey` is shorter than 32 characters.
 * @example
 * export const GET = dashboardHandler(dashboard, { authorize: (request) => isAdmin(request) })
 */
export function dashboardHandler(
  dashboard: Dashboard,
  options: HandlerOptions,
): (request: Request) => Promise<Response> {
  assertKnownOptions('dashboardHandler', options, ['authorize', 'relayKey', 'why'])
  const { authorize, relayKey, why } = options
  const isAuthorized = authorize === 'development' ? isLocalDevelopment : authorize
  assertFunction('dashboardHandler.authorize', isAuthorized)
  const state = stateOf(dashboard)
  if (!state) throw invalid('dashboard', 'must be created by createDashboard')
  if (relayKey !== undefined && !(relayKey.length >= MIN_KEY_LENGTH)) {
    throw invalid('relayKey', `must have ${MIN_KEY_LENGTH} characters or more`)
  }
  if (why !== undefined) assertFunction('dashboardHandler.why', why)
  let streams = 0
  const streamsOf = new Map<string | undefined, number>()
  return async (request) => {
    if (request.method === 'POST')
      return takeRecords(request, relayKey, (batch) => state.takeBatch(batch))
    if (request.method !== 'GET') return refuse(405, 'Send GET for the stream.')
    // The page of another site reads no answer, but could use up the streams, and have questions paid for.
    if (isOfAnotherSite(request)) return refuse(403, 'Open the stream from a page of this site.')
    const name = await isAuthorized(request)
    if (!name) {
      return refuse(403, 'This dashboard is for those whom the option "authorize" admits.')
    }
    const question = new URL(request.url).searchParams.get('why')
    if (question !== null) {
      return why ? why(question) : refuse(404, CANNOT_ASK)
    }
    if (streams >= MAX_STREAMS) return refuse(503, 'Too many people watch this dashboard.')
    const person = typeof name === 'string' ? name : undefined
    const own = streamsOf.get(person) ?? 0
    if (person !== undefined && own >= MAX_STREAMS_EACH) {
      return refuse(429, `You watch this dashboard ${MAX_STREAMS_EACH} times: close a tab.`)
    }
    streams += 1
    streamsOf.set(person, own + 1)
    return streamView(state, request, () => {
      streams -= 1
      const left = (streamsOf.get(person) ?? 1) - 1
      if (left > 0) streamsOf.set(person, left)
      else streamsOf.delete(person)
    })
  }
}

const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i

/** Where servers and proxies say whose request they pass on, such as the server of Next.js while you develop. */
const SENDER_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded']
const LOCAL_SENDER =
  /^(?:for="?)?\[?(?:127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)\]?(?::\d+)?"?(?:;.*)?$/i

declare const process: { readonly env?: { readonly NODE_ENV?: string } } | undefined

function isLocalDevelopment(request: Request): boolean {
  const mode = typeof process === 'undefined' ? undefined : process.env?.NODE_ENV
  const { headers } = request
  const senders = SENDER_HEADERS.flatMap((name) => headers.get(name)?.split(',') ?? [])
  // A site that makes its name point to this machine sends that name. Other machines may send any.
  return (
    mode === 'development' &&
    LOCAL_HOST.test(headers.get('host') ?? '') &&
    senders.every((sender) => LOCAL_SENDER.test(sender.trim()))
  )
}

const refuse = (status: number, message: string): Response => Response.json({ message }, { status })

const invalid = (option: string, message: string): ConfigError =>
  invalidOption(`dashboardHandler.${option}`, message)
