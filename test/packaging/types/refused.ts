// One misuse each, below what the compiler says of it: one line.
import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  sessionWindow,
  slidingWindow,
  slidingWindows,
  tokenBucket,
} from '@sluice/core'
import { budget } from '@sluice/ai'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { limiter } from './accepted.ts'

const store = memory()
const plans = definePlans({ starter: { rpm: 20, daily: 500 }, growth: { rpm: 60, daily: 2_000 } })
const per = ['tenant'] as const
declare function once<T>(make: () => T): () => T

// ── A limit that the plans have not ──

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rmp, window: '1m', per })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"rpm">'.
createLimiter({ store, plans: definePlans({ starter: { rpm: 20 } }), policies: [dailyCap({ name: 'd', limit: ({ plan }) => plan.rmp, per })] })

// @ts-expect-error -- TS2551: Property 'dialy' does not exist on type 'PlanLimits<"daily" | "rpm">'. Did you mean 'daily'?
createLimiter({ store, policies: [dailyCap({ name: 'd', limit: ({ plan }) => plan.dialy, per })], plans })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limit: ({ plan: { rmp } }) => rmp, per })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [slidingWindows({ name: 'w', per, windows: { minute: { limit: ({ plan }) => plan.rmp, window: '1m' } } })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [tokenBucket({ name: 'b', limit: 5, burst: ({ plan }) => plan.rmp, window: '1m', per })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [budget({ daily: ({ plan }) => plan.rmp, per })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [concurrency({ name: 'c', limit: ({ plan }) => plan.rmp, per })] })

// @ts-expect-error -- TS2339: Property 'rmp' does not exist on type 'PlanLimits<"daily" | "rpm">'.
once(() => createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limit: ({ plan }) => plan.rmp, per })] }))

// ── A subject ──

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tennant' does not exist in type 'SubjectOf<"project" | "route" | "tenant", string>'. Did you mean to write 'tenant'?
void limiter.check({ tennant: 'acme' })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'projet' does not exist in type 'SubjectOf<"project" | "route" | "tenant", string>'. Did you mean to write 'project'?
void limiter.check({ tenant: 'acme', projet: 'p' })

// @ts-expect-error -- TS2322: Type 'number' is not assignable to type 'string'.
void limiter.check({ tenant: 3 })

// @ts-expect-error -- TS2820: Type '"growht"' is not assignable to type '"growth" | "starter" | undefined'. Did you mean '"growth"'?
void limiter.check({ plan: 'growht' })

// @ts-expect-error -- TS2322: Type 'number' is not assignable to type 'string'.
void limiter.check({ plan: 5 })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tennant' does not exist in type 'SubjectOf<"project" | "route" | "tenant", string>'. Did you mean to write 'tenant'?
void limiter.peek({ tennant: 'acme' })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tennant' does not exist in type 'SubjectOf<"project" | "route" | "tenant", string>'. Did you mean to write 'tenant'?
void limiter.reset({ tennant: 'acme' })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tennant' does not exist in type 'SubjectOf<"project" | "route" | "tenant", string>'. Did you mean to write 'tenant'?
void reserve(limiter, { tennant: 'acme' })

// @ts-expect-error -- TS2820: Type '"growht"' is not assignable to type '"growth" | "starter" | undefined'. Did you mean '"growth"'?
void reserve(limiter, { plan: 'growht' })

// ── A cost ──

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tokenn' does not exist in type '{ readonly call?: number | undefined; readonly request?: number | undefined; readonly token?: number | undefined; }'. Did you mean to write 'token'?
void limiter.check({ project: 'p' }, { cost: { tokenn: 5 } })

// @ts-expect-error -- TS2353: Object literal may only specify known properties, and 'cots' does not exist in type 'CheckOptions<"request" | "token">'.
void limiter.check({ project: 'p' }, { cots: { token: 5 } })

// @ts-expect-error -- TS2322: Type 'string' is not assignable to type 'Cost<"request" | "token"> | undefined'.
void limiter.check({ project: 'p' }, { cost: '5' })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tokenn' does not exist in type '{ readonly call?: number | undefined; readonly request?: number | undefined; readonly token?: number | undefined; }'. Did you mean to write 'token'?
void reserve(limiter, { project: 'p' }, { cost: { tokenn: 5 } })

const call = await reserve(limiter, { project: 'p' })
// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'tokenn' does not exist in type '{ readonly call?: number | undefined; readonly request?: number | undefined; readonly token?: number | undefined; }'. Did you mean to write 'token'?
if (call.allowed) void call.settle({ tokenn: 5 })

// ── Options ──

// @ts-expect-error -- TS2353: Object literal may only specify known properties, and 'REDIS_URL' does not exist in type 'UpstashEnv'.
upstash({ env: { REDIS_URL: 'https://redis.example' } })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'limti' does not exist in type 'CapOptions<Per, string | undefined, "daily" | "rpm">'. Did you mean to write 'limit'?
createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limti: 5, per })] })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'windo' does not exist in type 'SlidingWindowOptions<Per, string | undefined, "daily" | "rpm">'. Did you mean to write 'window'?
createLimiter({ store, plans, policies: [slidingWindow({ name: 'd', limit: 5, windo: '1m', per, unit: 'token' })] })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'widnow' does not exist in type 'SlidingWindowOptions<Per, string | undefined, any>'. Did you mean to write 'window'?
slidingWindow({ name: 'd', limit: 5, widnow: '1m', per })

// @ts-expect-error -- TS2741: Property 'window' is missing in type '{ name: string; limit: number; per: readonly ["tenant"]; }' but required in type 'SlidingWindowOptions<readonly ["tenant"], string | undefined, "daily" | "rpm">'.
createLimiter({ store, plans, policies: [slidingWindow({ name: 'd', limit: 5, per })] })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'lenght' does not exist in type 'SessionWindowOptions<readonly ["tenant"], string | undefined, "daily" | "rpm">'. Did you mean to write 'length'?
createLimiter({ store, plans, policies: [sessionWindow({ name: 's', limit: 5, lenght: '5h', per })] })

// @ts-expect-error -- TS2322: Type '"5"' is not assignable to type 'Duration | undefined'.
createLimiter({ store, plans, policies: [sessionWindow({ name: 's', limit: 5, length: '5', per })] })

// @ts-expect-error -- TS2322: Type '"5"' is not assignable to type 'Limit<"daily" | "rpm">'.
createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limit: '5', per })] })

// @ts-expect-error -- TS2322: Type '"tenant"' is not assignable to type 'Per'.
createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limit: 5, per: 'tenant' })] })

// @ts-expect-error -- TS2820: Type '"skp"' is not assignable to type '"error" | "skip"'. Did you mean '"skip"'?
createLimiter({ store, plans, policies: [dailyCap({ name: 'd', limit: 5, per, onMissing: 'skp' })] })

// @ts-expect-error -- TS2353: Object literal may only specify known properties, and 'name' does not exist in type 'Policy<string, string, "daily" | "rpm">'.
createLimiter({ store, plans, policies: [{ name: 'rpm', limit: 5 }] })

// @ts-expect-error -- TS2561: Object literal may only specify known properties, but 'stroe' does not exist in type 'LimiterOptions<string, string, string, string>'. Did you mean to write 'store'?
createLimiter({ stroe: store, plans, policies: [] })

// @ts-expect-error -- TS2741: Property 'daily' is missing in type '{ rpm: number; }' but required in type 'PlanLimits<"daily" | "rpm">'.
definePlans({ starter: { rpm: 20, daily: 500 }, growth: { rpm: 60 } })

// @ts-expect-error -- TS2322: Type '"strater"' is not assignable to type '"starter"'.
definePlans({ starter: { rpm: 20 } }, { defaultPlan: 'strater' })
