/**
 * Makes the store unreachable, or reachable again, at the switch that `npm run demo` puts before its own
 * store. @throws Error If there is no switch, as before Upstash.
 */
export async function setStoreDown(isDown: boolean): Promise<void> {
  const { DEMO_STORE_SWITCH: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env
  if (!url) throw new Error('Only a store that "npm run demo" has started can be stopped.')
  const response = await fetch(url, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
    body: isDown ? 'down' : 'up',
  })
  if (!response.ok) throw new Error(`The switch of the store has answered ${response.status}.`)
}
