import { randomUUID } from 'node:crypto'
import { startLocal, startRedisServer, type LocalServer } from '@sluice/local'
import { freePort } from './ports.ts'
import { SECRET, signed } from './tokens.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** An app under test, with the two services it talks to in the test's hands. */
export interface Target extends AsyncDisposable {
  readonly url: string
  readonly store: Store
  readonly upstream: Upstream
}

/**
 * How long the apps wait for the store. Long, because a test machine may be busy, and an app that
 * gives up on its store goes on counting from zero.
 */
export const STORE_TIMEOUT_MS = '30000'

/** The addresses and secrets an app is started with. */
export interface Settings {
  readonly storeUrl: string
  readonly storeToken: string
  readonly upstreamUrl: string
  readonly upstreamKey: string
  readonly secret: string
}

/** An app that was started: where it listens, and how to end it. */
export interface App {
  readonly url: string
  stop(): Promise<void>
}

/** The Upstash REST protocol in front of a Redis of its own; it can go away and come back. */
export interface Store extends AsyncDisposable {
  readonly url: string
  readonly token: string
  /** HTTP requests answered since it last came up. */
  readonly requests: number
  up(): Promise<void>
  down(): Promise<void>
}

export async function startTarget(startApp: (settings: Settings) => Promise<App>): Promise<Target> {
  const store = await startStore()
  const upstream = await startUpstream()
  const app = await startApp({
    storeUrl: store.url,
    storeToken: store.token,
    upstreamUrl: upstream.url,
    upstreamKey: upstream.key,
    secret: SECRET,
  })
  return {
    url: app.url,
    store,
    upstream,
    async [Symbol.asyncDispose]() {
      await app.stop()
      await store[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

export async function startStore(): Promise<Store> {
  const token = randomUUID()
  // Requests to it are counted, so nobody else may flush its scripts or make it wait.
  const redis = await startRedisServer()
  const redisUrl = redis.url
  let local: LocalServer = await startLocal({ redisUrl, token, port: await freePort() })
  const { url } = local
  const port = Number(new URL(url).port)
  return {
    url,
    token,
    get requests() {
      return local.requests
    },
    up: async () => void (local = await startLocal({ redisUrl, token, port })),
    down: () => local.close(),
    async [Symbol.asyncDispose]() {
      await local.close()
      await redis.stop()
    },
  }
}

/** A tenant that has never been seen, and its way of asking. */
export async function newTenant(target: Target, plan = 'starter'): Promise<Asker> {
  const token = await signed({ tenant: `e2e-${randomUUID()}`, plan })
  return (route = 'evaluate') => ask(target, `/api/ai/${route}`, `Bearer ${token}`)
}

/** Sends one request to a route. */
export type Asker = (route?: string) => Promise<Response>

export function ask(
  { url }: { readonly url: string },
  path: string,
  authorization?: string,
): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    body: JSON.stringify({ input: 'Why is the sky blue?' }),
  })
}

/** Sends `count` requests at once and counts the answers by status. */
export async function burst(count: number, send: (index: number) => Promise<Response>) {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => send(index)))
  const statuses: Record<number, number> = {}
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
  await Promise.all(answers.map(async (answer) => answer.body?.cancel()))
  return statuses
}

/** Runs a test that counts a day's requests; once more if midnight (UTC) fell into it. */
export async function withinOneDay(run: () => Promise<void>): Promise<void> {
  const start = today()
  try {
    await run()
  } catch (error) {
    if (today() === start) throw error
    await run()
  }
}

const today = (): string => new Date().toISOString().slice(0, 10)
