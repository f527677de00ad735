import { dashboardHandler } from '@sluice/dashboard'
import { mayWatch } from '../../../lib/auth/token-access'
import { dashboard } from '../../../lib/dashboard'

// The environment is read at the first request: a build has no secrets.
let handler: ReturnType<typeof dashboardHandler> | undefined
const handle = (request: Request): Promise<Response> => {
  handler ??= dashboardHandler(dashboard, {
    authorize: mayWatch,
    relayKey: process.env['DEMO_RELAY_KEY'],
  })
  return handler(request)
}

/** Streams the dashboard (GET), and takes the events of the edge middleware (POST). */
export { handle as GET, handle as POST }
