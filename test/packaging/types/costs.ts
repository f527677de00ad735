// Every adapter with a cost that is reserved or waits, written where it is passed. Everything here must be accepted.
import { rateLimit as astro } from '@sluice/adapters/astro'
import { rateLimit as express } from '@sluice/adapters/express'
import { rateLimit as fastify } from '@sluice/adapters/fastify'
import { rateLimit as h3 } from '@sluice/adapters/h3'
import { rateLimit as hono } from '@sluice/adapters/hono'
import { rateLimit as mcp } from '@sluice/adapters/mcp'
import { rateLimit as reactRouter } from '@sluice/adapters/react-router'
import { rateLimit as sveltekit } from '@sluice/adapters/sveltekit'
import { rateLimit as trpc } from '@sluice/adapters/trpc'
import { rateLimit as worker } from '@sluice/cloudflare'
import type { Limiter } from '@sluice/core'
import { rateLimit, reserving } from '@sluice/core/http'
import { waiting } from '@sluice/core/waiting'
import { rateLimit as next, withRateLimit } from '@sluice/next'
import { Hono, type Context } from 'hono'

declare const limiter: Limiter
const routes = ['/api/ai/**']
const subject = () => ({ tenant: 'acme' })
const answer = () => new Response()
const ofBody = async (request: Request) => ({ token: (await request.clone().text()).length })

const ofContext = (_request: Request, { req }: Context) => req.path.length

const app = new Hono()
app.use(hono(limiter, { subject, cost: reserving({ token: 9 }) }))
app.use(hono(limiter, { subject, cost: reserving(ofBody, { settleWithin: '1m' }) }))
app.use(hono(limiter, { subject, cost: reserving(ofContext) }))
app.use(hono(limiter, { subject, cost: waiting('20s') }))
app.use(hono(limiter, { subject, cost: waiting('20s', reserving({ token: 9 })) }))
app.use(hono(limiter, { subject, cost: waiting('20s', ofContext) }))

astro(limiter, { routes, subject, cost: reserving({ token: 9 }) })
astro(limiter, { routes, subject, cost: waiting('20s', ofBody) })
express(limiter, { subject, cost: reserving({ token: 9 }) })
express(limiter, { subject, cost: waiting('20s', (_, { body }) => String(body).length) })
fastify(limiter, { subject, cost: reserving({ token: 9 }) })
fastify(limiter, { subject, cost: waiting('20s', ofBody) })
h3(limiter, { routes, subject, cost: reserving({ token: 9 }) })
h3(limiter, { routes, subject, cost: waiting('20s', ofBody) })
reactRouter(limiter, { subject, cost: reserving({ token: 9 }) })
reactRouter(limiter, { subject, cost: waiting('20s', ofBody) })
sveltekit(limiter, { routes, subject, cost: reserving({ token: 9 }) })
sveltekit(limiter, { routes, subject, cost: waiting('20s', ofBody) })
trpc(limiter, { subject, cost: reserving({ token: 9 }) })
trpc(limiter, { subject, cost: waiting('20s', ofBody) })
mcp(limiter, { subject, cost: reserving({ token: 9 }) })
mcp(limiter, { subject, cost: waiting('20s') })
next(limiter, { routes, subject, cost: waiting('20s', ofBody) })
withRateLimit(answer, { limiter, subject, route: 'ask', cost: reserving({ token: 9 }) })
withRateLimit(answer, { limiter, subject, route: 'ask', cost: waiting('20s', ofBody) })
worker(limiter, { routes, subject, cost: reserving({ token: 9 }) }, answer)
worker(limiter, { routes, subject, cost: waiting('20s', ofBody) }, answer)
rateLimit(limiter, { routes, subject, cost: reserving({ token: 9 }) }, answer)
rateLimit(limiter, { routes, subject, cost: waiting('20s', ofBody) }, answer)
