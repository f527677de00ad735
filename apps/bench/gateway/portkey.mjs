/*
 * The app of @portkey-ai/gateway as a Worker. Its package on npm has the app and a start on Node.js in one file; its
 * Worker is the same app. It is loaded by the first request: only requests may set timers in workerd.
 */
import { appFetch } from './node-host.mjs'

let app

export default {
  async fetch(request, env, ctx) {
    app ??= import('@portkey-ai/gateway/build/start-server.js')
    await app
    return appFetch()(request, env, ctx)
  },
}
