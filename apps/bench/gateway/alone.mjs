/*
 * The gateway of apps/worker without its store: the first reply to a command is kept, and answers each like it at once,
 * of the same tenant or key.
 */
import gateway from '../../worker/src/index.ts'

export { Limits } from '../../worker/src/index.ts'

const COMMAND = /^\["EVALSHA","(\w+)",\d+,"([^"]*)"/
const replies = new Map()
const send = globalThis.fetch
let store

globalThis.fetch = (url, init) => (url === store ? answer(url, init) : send(url, init))

async function answer(url, init) {
  const [, script, key = ''] = COMMAND.exec(init.body) ?? []
  // Each reservation has a key of its own.
  const command =
    script && `${script} ${key.replace(/:hold:.*/, '')} ${init.body.split('","').length}`
  const kept = replies.get(command)
  if (kept) return { ok: true, status: 200, text: async () => kept }
  const response = await send(url, init)
  const text = await response.text()
  if (command && response.ok) replies.set(command, text)
  return { ok: response.ok, status: response.status, text: async () => text }
}

export default {
  fetch(request, env, ctx) {
    store = env.UPSTASH_REDIS_REST_URL
    return gateway.fetch(request, env, ctx)
  },
}
