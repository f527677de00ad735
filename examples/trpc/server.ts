import { denialOf, rateLimit, type RequestContext } from '@sluice/adapters/trpc'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const t = initTRPC.context<RequestContext>().create({
  errorFormatter: ({ shape, error }) => ({
    ...shape,
    data: { ...shape.data, denial: denialOf(error) },
  }),
})
const limited = t.procedure.use(rateLimit(limiter, { subject: tenantFromJwt }))
const router = t.router({ chat: limited.mutation(() => ({ answer: 42 })) })

const server = createHTTPServer({
  router,
  basePath: '/api/ai/',
  createContext: ({ req, res }) => ({ req, res }),
})
server.listen(Number(process.env.PORT ?? 3000))
