import { createHmac } from 'node:crypto'

const REQUEST_TIMEOUT_MS = 20_000

/** Creates tenants that no other run uses, and signs their JWTs as the demo's endpoint does. */
export function tokensFor(tenants, secret, run) {
  const exp = Math.floor(Date.now() / 1000) + 3_600
  const entries = Object.entries(tenants).map(([tenant, plan]) => {
    const claims = { tenant: `${tenant}-${run}`, plan }
    return [tenant, sign({ ...claims, iss: 'sluice-demo', aud: 'sluice-demo-ai', exp }, secret)]
  })
  return new Map(entries)
}

function sign(claims, secret) {
  const text = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Sends one request, reads the whole answer, and returns a record of it. Never rejects. */
export async function request(url, route, token, deadline) {
  const startedAt = performance.now()
  const record = { route, startedAt, status: 0, policy: undefined, error: undefined }
  try {
    const answer = await fetch(`${url}/api/ai/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Item to be evaluated.' }),
      signal: AbortSignal.any([deadline, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    })
    const text = await answer.text()
    record.status = answer.status
    record.retryAfter = answer.headers.get('retry-after')
    if (answer.status !== 200) Object.assign(record, refusalIn(text))
  } catch (error) {
    record.error = error.name
  }
  record.endedAt = performance.now()
  return record
}

function refusalIn(text) {
  try {
    const { error, policy } = JSON.parse(text)
    return { error, policy }
  } catch {
    return { error: 'not JSON' }
  }
}
