import { setTimeout as delay } from 'node:timers/promises'
import type { Outcome, TenantName, Traffic } from './scenario'
import { signToken } from '../auth/jwt'
import { tenants } from '../auth/tenants'
import { moveBeforeMidnight } from '../development/clock'
import { setStoreDown } from '../development/store-switch'

/** The result of a run. */
export interface RunResult {
  allowed: number
  denied: number
  failed: number
  /** The scenario's finding, if it says more than its counts. */
  conclusion?: string
}

/** Creates the traffic of one run against the demo at `origin`, which ends with `signal`. */
export function createTraffic(origin: string, signal: AbortSignal) {
  const result: RunResult = { allowed: 0, denied: 0, failed: 0 }
  const tokens = new Map<TenantName, Promise<string>>()
  const tokenOf = (name: TenantName): Promise<string> => {
    const tenant = tenants.find((one) => one.tenant === name)
    if (!tenant) throw new Error(`The demo has no tenant ${name}`)
    const token = tokens.get(name) ?? signToken(tenant)
    tokens.set(name, token)
    return token
  }

  async function post(path: string, tenant: TenantName, body: object, call = crypto.randomUUID()) {
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOf(tenant)}`,
        'content-type': 'application/json',
        'idempotency-key': call,
      },
      body: JSON.stringify(body),
      signal,
      cache: 'no-store',
    })
    const { status } = response
    const text = await response.text()
    const model = /"model":"([^"]+)"/.exec(text)?.[1]
    const outcome = { status, code: codeIn(status, text), model }
    result[status === 200 ? 'allowed' : status === 429 || status === 503 ? 'denied' : 'failed'] += 1
    return outcome
  }

  const chatAt = (path: string, tenant: TenantName, call?: string): Promise<Outcome> => {
    const messages = [{ role: 'user', content: 'What is a budget?' }]
    return post(path, tenant, { model: 'gpt-6.2-sol', messages, stream: true }, call)
  }

  const traffic: Traffic = {
    ask: (tenant, route, call) =>
      post(`/api/ai/${route}`, tenant, { input: 'A cache keeps what was read before.' }, call),
    chat: (tenant, call) => chatAt('/api/chat', tenant, call),
    ladder: (tenant, call) => chatAt('/api/chat/ladder', tenant, call),
    pause: (ms) => delay(ms, undefined, { signal }),
    async each(count, workers, work) {
      let next = 0
      const worker = async (): Promise<void> => {
        while (next < count) await work(next++)
      }
      await Promise.all(Array.from({ length: workers }, worker))
    },
    stopStore: () => setStoreDown(true),
    startStore: () => setStoreDown(false),
    moveBeforeMidnight,
    conclude: (sentence) => void (result.conclusion = sentence),
  }
  return { traffic, result }
}

function codeIn(status: number, body: string): Outcome['code'] {
  if (status === 200) return undefined
  try {
    const { error } = JSON.parse(body) as { error?: string | { code?: string } }
    return typeof error === 'object' ? error.code : error
  } catch {
    return undefined
  }
}
