/* Misuse of the public factories, for the form of their errors. */
import * as ai from '@sluice/ai'
import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import * as core from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import * as http from '@sluice/core/http'
import { createHandoff } from '@sluice/core/internal/http'
import * as identity from '@sluice/core/identity'
import { jwtSubject } from '@sluice/core/jwt'
import { defineManifest } from '@sluice/core/manifest'
import { memory } from '@sluice/core/memory'
import { planResolver } from '@sluice/core/plans'
import { fitRange, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { loosely } from '../support/mistakes.ts'

/** The wrong call, the option that the message must name, and the value that it must show, if any. */
type Misuse = readonly [call: () => unknown, option: string, given?: string]

const store = memory()
export const good = { name: 'p', limit: 1, window: '1m', per: ['tenant'] } as const
const policies = [core.slidingWindow(good)]
const limiter = core.createLimiter({ store, policies })
const subject = () => ({ tenant: 'acme' })
const routes = ['/api/ai/**']
const handle = () => new Response()
export const SHORT = 'auth-secret'

const createLimiter = (changes: object) =>
  loosely(core.createLimiter)({ store, policies, ...changes })
export const windowOf = (changes: object) => loosely(core.slidingWindow)({ ...good, ...changes })
const guarded = (changes: object) =>
  http.rateLimit(limiter, { routes, subject, ...changes }, handle)
const jwtOf = (changes: object) =>
  loosely(jwtSubject)({ secret: 'x'.repeat(32), algorithms: ['HS256'], ...changes })

export const MISUSE: Record<string, Misuse> = {
  'no options of a limiter': [
    () => loosely(core.createLimiter)(undefined),
    'createLimiter',
    'undefined',
  ],
  'a text instead of options': [
    () => loosely(core.createLimiter)(SHORT),
    'createLimiter',
    'string',
  ],
  'a misspelt option': [() => createLimiter({ onStoreErr: 'deny' }), 'createLimiter.onStoreErr'],
  'an address as store': [() => createLimiter({ store: SHORT }), 'store', '"string"'],
  'no policies': [() => createLimiter({ policies: [] }), 'policies', 'object'],
  'a policy as plain data': [
    () => createLimiter({ policies: [policies[0], good] }),
    'policies[1]',
    'object',
  ],
  'two policies of one name': [
    () =>
      createLimiter({
        policies: [...policies, core.dailyCap({ ...good, window: undefined } as never)],
      }),
    'dailyCap.window',
  ],
  'a policy twice': [
    () => createLimiter({ policies: [...policies, ...policies] }),
    'policies[1]',
    '"p"',
  ],
  'plans as plain data': [() => createLimiter({ plans: { starter: {} } }), 'plans', 'object'],
  'an extension as plain data': [() => createLimiter({ extensions: {} }), 'extensions', 'object'],
  'an unknown mode': [() => createLimiter({ onStoreError: 'open' }), 'onStoreError', '"open"'],
  'a clock that is a number': [() => createLimiter({ clock: 5 }), 'clock', '5'],
  'a plan without the limit': [
    () =>
      createLimiter({
        plans: core.definePlans({ starter: { rpm: 1 } }),
        policies: [core.slidingWindow({ ...good, limit: ({ plan }) => plan['rmp'] })],
      }),
    'policies.p.limit for plan "starter"',
    'undefined',
  ],
  'a limit below 0': [() => windowOf({ limit: -1 }), 'slidingWindow.limit', '-1'],
  'a limit as text': [() => windowOf({ limit: '5' }), 'slidingWindow.limit', '"5"'],
  'a limit of NaN': [() => windowOf({ limit: Number.NaN }), 'slidingWindow.limit', 'NaN'],
  'seconds as a window': [() => windowOf({ window: 60 }), 'slidingWindow.window', '60'],
  'an unknown unit of time': [
    () => windowOf({ window: '1 month' }),
    'slidingWindow.window',
    '"1 month"',
  ],
  'no window': [() => windowOf({ window: undefined }), 'slidingWindow.window', 'undefined'],
  'a name with a space': [() => windowOf({ name: 'a b' }), 'slidingWindow.name', '"a b"'],
  'a dimension as text': [() => windowOf({ per: 'tenant' }), 'slidingWindow.per', '"tenant"'],
  'a dimension with a space': [() => windowOf({ per: ['a b'] }), 'slidingWindow.per', '"a b"'],
  'an unknown mode of a policy': [() => windowOf({ mode: 'off' }), 'slidingWindow.mode', '"off"'],
  'a rollout as data': [() => windowOf({ rollout: 5 }), 'slidingWindow.rollout', '5'],
  'a misspelt option of a policy': [() => windowOf({ limits: 5 }), 'slidingWindow.limits'],
  'a burst of 0': [
    () => loosely(core.tokenBucket)({ ...good, burst: 0 }),
    'tokenBucket.burst',
    '0',
  ],
  'a wait without a unit': [
    () => loosely(core.leakyBucket)({ ...good, wait: '10' }),
    'leakyBucket.wait',
    '"10"',
  ],
  'an idle time in seconds': [
    () => loosely(core.sessionWindow)({ name: 'p', limit: 1, per: ['run'], idle: 30 }),
    'sessionWindow.idle',
    '30',
  ],
  'a session without an end': [
    () => loosely(core.sessionWindow)({ name: 'p', limit: 1, per: ['run'] }),
    'sessionWindow.length',
  ],
  'too many calls in flight': [
    () => core.concurrency({ name: 'p', limit: 1_000_000, per: ['tenant'] }),
    'concurrency.limit',
    '1000000',
  ],
  'a share above 1': [() => core.backpressure({ from: 2, maxMs: 5 }), 'backpressure.from', '2'],
  'no plans': [() => core.definePlans({}), 'definePlans', 'object'],
  'an unknown default plan': [
    () => core.definePlans({ starter: { rpm: 1 } }, { defaultPlan: 'pro' as never }),
    'definePlans.defaultPlan',
    '"pro"',
  ],
  'a Redis address': [() => upstash({ url: `redis://:${SHORT}@x`, token: 'x' }), 'upstash.url'],
  'a token with a space': [
    () => upstash({ url: 'https://x.example', token: `${SHORT} ` }),
    'upstash.token',
  ],
  'a time limit as text': [() => loosely(upstash)({ timeoutMs: '5' }), 'upstash.timeoutMs', '"5"'],
  'no address': [
    () => core.createLimiter({ store: upstash({ env: {} }), policies }).check({ tenant: 'acme' }),
    'upstash.url',
  ],
  'a memory without room': [() => memory({ maxKeys: 0 }), 'memory.maxKeys', '0'],
  'routes as text': [() => guarded({ routes: '/api' }), 'routes', '"/api"'],
  'a route as a folder of Next.js': [
    () => guarded({ routes: ['/a', '/api/[model]'] }),
    'routes[1].path',
    '"/api/[model]"',
  ],
  'a cost below 0': [
    () => guarded({ routes: ['/a', { path: '/b', cost: -1 }] }),
    'routes[1].cost',
    '-1',
  ],
  'an unknown method': [
    () => guarded({ routes: [{ path: '/b', methods: 'FETCH' }] }),
    'routes[0].methods',
    '"FETCH"',
  ],
  'no subject': [() => guarded({ subject: undefined }), 'subject', 'undefined'],
  'an unknown format': [() => guarded({ format: 'xml' }), 'format', '"xml"'],
  'a header style': [() => guarded({ headers: 'draft' }), 'headers', '"draft"'],
  'a delay in text': [() => guarded({ maxDelayMs: '5s' }), 'maxDelayMs', '"5s"'],
  'no limiter': [
    () => http.rateLimit(undefined as never, { routes, subject }, handle),
    'limiter',
    'undefined',
  ],
  'a short hand-off secret': [() => createHandoff(SHORT), 'secret', String(SHORT.length)],
  'a hand-off store as text': [
    () => createHandoff('x'.repeat(32), { singleUse: SHORT as never }),
    'singleUse',
    'string',
  ],
  'a refusal with 200': [
    () => http.refuse({ status: 200, code: 'x', message: 'x' }),
    'refuse.status',
    '200',
  ],
  'a short JWT secret': [() => jwtOf({ secret: SHORT }), 'jwtSubject.secret', String(SHORT.length)],
  'no JWT secret': [
    () => jwtOf({ secret: () => undefined })(new Request('https://x.example')),
    'jwtSubject.secret',
  ],
  'no proxy': [
    () => loosely(identity.addressSubject)({ from: 'aws' }),
    'addressSubject.from',
    '"aws"',
  ],
  'no look-up': [() => loosely(identity.apiKeySubject)({}), 'apiKeySubject.lookup', 'undefined'],
  'a header with a space': [
    () => identity.headerSubject({ header: 'X Id', dimension: 'project' }),
    'headerSubject.header',
    '"X Id"',
  ],
  'a setting that cannot change': [
    () => loosely(runtimeConfiguration)({ allow: { p: ['window'] } }),
    'runtimeConfiguration.allow.p',
    '"window"',
  ],
  'a limiter without the extension': [() => configure(limiter, { p: { limit: 5 } }), 'limiter'],
  'a plan resolver that is a text': [
    () => loosely(planResolver)('starter'),
    'planResolver',
    '"starter"',
  ],
  'an empty range': [() => fitRange({ floor: 5, most: 1, rates: { token: 1 } }), 'fitRange.floor'],
  'a share for a percentage': [() => core.rollout({ enforced: 0.5 }), 'rollout.enforced', '0.5'],
  'a share of nothing': [() => reserve(limiter, { tenant: 'a' }, { maxShare: 0 }), 'maxShare', '0'],
  'a manifest without routes': [() => loosely(defineManifest)({ routes: [] }), 'manifest.routes'],
  'a policy that is not there': [
    () => limiter.reset({ tenant: 'a' }, { policies: ['q'] }),
    'reset.policies',
    '"q"',
  ],
  'a budget below 0': [() => ai.budget({ daily: -1, per: ['tenant'] }), 'budget.daily', '-1'],
  'a maximum of 0': [
    () => ai.limitedFetch(limiter, { subject, prices: ai.LIST_PRICES, maxOutput: 0 }),
    'limitedFetch.maxOutput',
    '0',
  ],
  'routes of middleware': [
    () => rateLimitNext(limiter, { routes: ['/a', 'b'], subject }),
    'routes[1].path',
    '"b"',
  ],
  'no options of a wrapper': [
    () => withRateLimit(handle, undefined as never),
    'withRateLimit',
    'undefined',
  ],
  'no handler of a Worker': [
    () => rateLimitWorker(limiter, { routes, subject }, undefined as never),
    'handle',
    'undefined',
  ],
  'a misspelt unit': [
    () => limiter.check({ tenant: 'acme' }, { cost: { tokens: 5 } as never }),
    'cost',
    '"tokens"',
  ],
  'a subject without its dimension': [() => limiter.check({ user: 'u_17' }), 'subject.tenant'],
}
