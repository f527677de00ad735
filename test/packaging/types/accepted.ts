// Everything here must be accepted.
import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  listen,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindows,
  tokenBucket,
  type LimitContext,
  type Limiter,
  type Policy,
  type Subject,
} from '@sluice/core'
import { configure, readConfiguration, removeConfiguration } from '@sluice/core/configuration'
import { rateLimit } from '@sluice/core/http'
import { budget } from '@sluice/ai'
import { memory } from '@sluice/core/memory'
import { invalidatePlan } from '@sluice/core/plans'
import { upstash } from '@sluice/core/upstash'
import { reserve } from '@sluice/core/reservations'

const store = memory()

// The variables of a database, in a Worker's bindings of any shape and in Node's environment.
interface Bindings {
  readonly UPSTASH_REDIS_REST_URL: string
  readonly UPSTASH_REDIS_REST_TOKEN: string
  readonly FLOOD: object
}
declare const bindings: Bindings,
  noBindings: {},
  environment: { NODE_ENV: string; [name: string]: string | undefined }
for (const env of [bindings, noBindings, environment]) upstash({ env })

export const limiter = createLimiter({
  store,
  plans: definePlans({ starter: { rpm: 20, daily: 500 }, growth: { rpm: 60, daily: 2_000 } }),
  policies: [
    dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
    slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan.rpm,
      window: '1m',
      per: ['tenant', 'route'],
    }),
    slidingWindow({ name: 'tpm', limit: 90_000, window: '1m', per: ['project'], unit: 'token' }),
  ],
})
await limiter.check(
  { tenant: 'acme', project: 'p', route: 'evaluate', plan: 'growth' },
  { cost: { token: 1_200 } },
)
await limiter.check({ tenant: 'acme' }, { cost: { request: 2, token: 0 } })
await limiter.check({ tenant: 'acme', project: 'p' }, { cost: 2 })
await limiter.check({ tenant: 'acme', call: 'idempotency-key' })
await limiter.peek({ user: 'u', model: 'm', project: 'p' })
await limiter.reset({ tenant: 'acme' })

// A plan that is known at run time is any string.
declare const token: {
  project: string
  plan: string
  tier: string | undefined
  kind: 'starter' | 'growth'
  custom: `plan_${string}`
}
await limiter.check({ plan: token.plan })
await limiter.check({ plan: token.tier })
await limiter.check({ plan: token.kind })
await limiter.check({ plan: token.custom })
await limiter.check({ plan: undefined })

// A subject that was made elsewhere.
const subject = { tenant: 'acme', project: 'p', plan: 'whatever' }
await limiter.check(subject)
declare const record: Record<string, string>
declare const anySubject: Subject
await (limiter as Limiter).check(record)
await (limiter as Limiter).check(anySubject)

// A plain limiter takes anything, and every limiter is one.
export const plain: Limiter = limiter
await plain.check({ tennant: 'x', any: 'y', plan: 'growht' }, { cost: { tokenn: 1 } })
const answer = () => new Response()
rateLimit(limiter, { routes: ['/a'], subject: () => ({ tenant: 'acme' }) }, answer)
rateLimit(plain, { routes: ['/a'], subject: () => ({ whatever: 'x' }) }, answer)
await configure(limiter, { rpm: { limit: 30 } }, { tenant: 'acme' })
await readConfiguration(limiter)
await removeConfiguration(limiter, { tenant: 'acme' })
await invalidatePlan(limiter, 'acme')
declare function own<L extends Limiter>(limiter: L): L
await own(limiter).check({ tenant: 'acme' })

// Several rules in one policy, one budget of everyone, listeners, any order of options.
const other = createLimiter({
  extensions: [listen({ problem: ({ code }) => void code.length })],
  policies: [
    slidingWindow({ name: 'all', limit: 5, window: '1m', per: 'global' }),
    budget({ daily: ({ plan }) => plan.usd, per: ['team'] }),
    concurrency({ name: 'calls', limit: 5, per: ['session'], onMissing: 'skip' }),
    sessionWindow({ name: 'week', limit: ({ plan }) => plan.usd, length: '7d', per: ['team'] }),
    sessionWindow({ name: 'run', limit: 5, length: '5h', idle: undefined, per: ['team'] }),
    sessionWindow({ name: 'pause', limit: 5, length: undefined, idle: '5m', per: ['team'] }),
    tokenBucket({
      name: 'bucket',
      limit: 5,
      burst: ({ plan }) => plan.rpm,
      window: '1m',
      per: ['team'],
    }),
    slidingWindows({
      name: 'w',
      per: ['tenant'],
      windows: {
        minute: { limit: ({ plan }) => plan.rpm, window: '1m' },
        day: { limit: 4, window: '1d' },
      },
    }),
  ],
  plans: definePlans({ free: { usd: 5, rpm: 'unlimited' } }),
  store,
})
await other.check({ team: 't', session: 's' }, { cost: { usd: 3, call: 1 } })

// A policy with names of its own choice makes the limiter an open one.
const project = createLimiter({ store, policies: [projectLimits()] })
await project.check({ project: 'p' }, { cost: { request: 1 } })

// Policies in a list: open if it is a Policy[], else as its members.
const list: Policy[] = []
list.push(dailyCap({ name: 'd', limit: ({ plan }) => plan['daily'], per: ['tenant'] }))
const open = createLimiter({ store, policies: list })
await open.check({ tennant: 'acme', any: 'x' }, { cost: { tokenn: 5 } })
const pair = [
  dailyCap({ name: 'd', limit: 3, per: ['tenant'] }),
  dailyCap({ name: 'e', limit: 3, per: ['x'], unit: 'page' }),
]
await createLimiter({ store, policies: pair }).check({ x: 'x' }, { cost: { page: 1 } })
declare function helper(): Policy<'seat', 'usd'>[]
const spread = createLimiter({
  store,
  plans: definePlans({ starter: { rpm: 20 } }),
  policies: [
    ...helper(),
    ...pair,
    slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
  ],
})
await spread.check({ seat: 's', x: 'x' }, { cost: { usd: 1, page: 1 } })

// A policy that states what it needs of the plans.
const daily = dailyCap({
  name: 'd',
  limit: ({ plan }: LimitContext<'daily'>) => plan.daily,
  per: ['tenant'],
})
createLimiter({ store, plans: definePlans({ a: { daily: 1, rpm: 2 } }), policies: [daily] })

// Names that are known at run time only.
declare const names: string[]
declare const unit: string
const dynamic = createLimiter({
  store,
  policies: [dailyCap({ name: 'x', limit: 5, per: names, unit })],
})
await dynamic.check({ any: 'x' }, { cost: { any: 1 } })

// Inside another generic call, behind a function, and handed on by a wrapper.
declare function same<T>(value: T): T
const lazy = (): Limiter<'tenant', 'request', 'starter'> =>
  same(
    createLimiter({
      store,
      plans: definePlans({ starter: { rpm: 20 } }),
      policies: [dailyCap({ name: 'x', limit: ({ plan }) => plan.rpm, per: ['tenant'] })],
    }),
  )
await lazy().check({ tenant: 'a', plan: 'starter' })
export function wrap<D extends string, U extends string, P extends string>(
  inner: Limiter<D, U, P>,
): Limiter<D, U, P> {
  return inner
}
await wrap(limiter).check({ project: 'p', plan: 'growth' })

// Reservations.
const call = await reserve(limiter, { tenant: 'a', plan: 'growth' }, { cost: { token: 3 } })
if (call.allowed) await call.settle({ token: 2 })
await reserve(plain, { any: 'a', plan: token.plan }, { cost: { any: 3 } })
await reserve(limiter, { project: 'p', plan: token.plan })
