import { createHmac } from 'node:crypto'

const SETTLE_TIMEOUT_MS = 10_000
const CHAT = {
  model: 'gpt-6.2-sol',
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'What is a budget?' }],
}

/** Creates a client of the demo for one tenant, whose JWT is signed as the demo's endpoint does. */
export function clientOf({ url, secret, run, deadline }, tenant, plan) {
  const token = sign({ tenant: `${tenant}-${run}`, plan }, secret)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  /** Sends a request, reads the whole answer, and returns a record of it. Never rejects. */
  async function send(path, body) {
    const record = { tenant, path, status: 0, startedAt: performance.now() }
    try {
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: deadline }
      const answer = await fetch(url + path, init)
      const text = await answer.text()
      record.status = answer.status
      record.retryAfter = answer.headers.get('retry-after')
      record.shouldRetry = answer.headers.get('x-should-retry') !== 'false'
      if (answer.status === 200) Object.assign(record, usageIn(text))
      else Object.assign(record, JSON.parse(text))
    } catch (error) {
      record.error = error.name
    }
    return { ...record, endedAt: performance.now() }
  }

  /** Waits until all calls are settled, which is shortly after the last word. Resolves to the day's budget. */
  async function settled() {
    const until = performance.now() + SETTLE_TIMEOUT_MS
    for (let peeks = 1; ; peeks += 1) {
      const answer = await fetch(`${url}/api/limits?route=chat`, { headers, signal: deadline })
      const { policies } = await answer.json()
      const of = (wanted) => policies.find(({ name }) => name === wanted)
      const [{ limit, remaining }, inFlight] = [of('budget.daily'), of('in-flight')]
      if (inFlight.remaining === inFlight.limit || performance.now() > until) {
        return { limit, used: limit - remaining, peeks }
      }
    }
  }

  return {
    ask: (route) => send(`/api/ai/${route}`, { input: 'Item to be evaluated.' }),
    chat: (body) => send('/api/chat', { ...CHAT, ...body }),
    ladder: (body) => send('/api/chat/ladder', { ...CHAT, ...body }),
    settled,
  }
}

function sign(tenant, secret) {
  const exp = Math.floor(Date.now() / 1000) + 3_600
  const claims = { ...tenant, iss: 'sluice-demo', aud: 'sluice-demo-ai', exp }
  const text = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns the usage in an answer, and the model that has answered. */
function usageIn(text) {
  const chunks = Array.from(text.matchAll(/^data: (\{.*\})$/gm), ([, json]) => JSON.parse(json))
  const { usage, model } = chunks.findLast((chunk) => chunk.usage) ?? {}
  return { usage, model }
}
