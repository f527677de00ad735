/* Stands in for @hono/node-server and @hono/node-ws: instead of listening, it keeps the app. */
let kept

export const serve = ({ fetch }) => {
  kept = fetch
}
export const appFetch = () => kept
export const createNodeWebSocket = () => ({
  injectWebSocket() {},
  upgradeWebSocket: () => () => undefined,
})
