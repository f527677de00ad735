import { randomUUID } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import { raw, type RawRequest, type RawResponse } from './raw.ts'

/** An app that runs, and how its paths are written. */
export interface SetUp {
  readonly url: string
  readonly basePath: string
  readonly trailingSlash: boolean
  readonly buildId: string
  /** The secret that its middleware and its wrapped handlers share. */
  readonly secret: string | undefined
  /** HTTP requests that its store has had. */
  readonly storeRequests: () => number
}

/** A path of the app as its own links would have it. */
export function canonical({ basePath, trailingSlash }: SetUp, path: string): string {
  if (path === '/') return basePath + (trailingSlash ? '/' : '') || '/'
  return basePath + path + (trailingSlash ? '/' : '')
}

/** A tenant whose budgets are untouched. */
export interface Tenant {
  readonly headers: OutgoingHttpHeaders
  /** Sends a request to a path as the app's own links would have it. */
  ask(path: string, request?: Omit<RawRequest, 'path'>): Promise<RawResponse>
  /** Sends a request with its target as it is. */
  send(request: RawRequest): Promise<RawResponse>
  /** The number of times that a handler has run for it. */
  runs(): Promise<number>
}

/** A tenant whose plan allows that many requests per route. */
export function newTenant(setUp: SetUp, plan: 'one' | 'two' | 'twenty'): Tenant {
  const mine = { 'x-tenant': randomUUID(), 'x-plan': plan }
  const send = ({ headers, ...request }: RawRequest): Promise<RawResponse> =>
    raw(setUp.url, { ...request, headers: { ...mine, ...headers } })
  return {
    headers: mine,
    send,
    ask: (path, request) => send({ ...request, path: canonical(setUp, path) }),
    async runs() {
      const path = canonical(setUp, '/api/report')
      const { body } = await send({ path, method: 'GET' })
      return Number(body.toString())
    },
  }
}

/** The report of a handler of the app. */
export interface Report {
  readonly handler: string
  readonly method: string
  readonly given: Readonly<Record<string, string>>
}

export function reportOf({ body }: RawResponse): Report {
  return JSON.parse(body.toString()) as Report
}
