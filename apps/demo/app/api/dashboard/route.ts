import { dashboardHandler } from '@sluice/dashboard'
import { whyDenied } from '@sluice/dashboard/why'
import { mayWatch } from '../../../lib/auth/token-access'
import { dashboard } from '../../../lib/dashboard'
import { limiter } from '../../../lib/limits/ai-routes'
import { chatLimiter } from '../../../lib/limits/chat'

// The environment is read at the first request: a build has no secrets.
let handler: ReturnType<typeof dashboardHandler> | undefined
const handle = (request: Request): Promise<Response> => {
  handler ??= dashboardHandler(dashboard, {
    authorize: mayWatch,
    relayKey: process.env['DEMO_RELAY_KEY'],
    why: whyDenied({ 'AI routes': limiter, Chat: chatLimiter }),
  })
  return handler(request)
}

/** Streams the dashboard and answers its questions (GET), and takes the events of the edge middleware (POST). */
export { handle as GET, handle as POST }
