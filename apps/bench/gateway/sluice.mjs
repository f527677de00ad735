/* The gateway of apps/worker, which counts the requests to its objects. They run in the same isolate. */
import gateway, { Limits as GatewayLimits } from '../../worker/src/index.ts'

let trips = 0

export class Limits extends GatewayLimits {
  sluice(message) {
    trips += 1
    return super.sluice(message)
  }
  countedIn(...args) {
    trips += 1
    return super.countedIn(...args)
  }
}

export default {
  fetch: (request, env, ctx) =>
    request.url.endsWith('/trips') ? Response.json(trips) : gateway.fetch(request, env, ctx),
}
