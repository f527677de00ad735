/* The gateway with administration, and requests of its operators. */
import { request as httpRequest } from 'node:http'
import type { Limiter } from '@sluice/core'
import { createApiKey, listApiKeys } from '@sluice/core/api-keys'
import { readConfiguration } from '@sluice/core/configuration'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { operatorCalls } from '../../../apps/worker/src/admin/admin.ts'
import { keysOf, OPERATED, settingsOf, startGateway, startKeys } from './gateway.ts'
import type { WorkerApp } from './workerd.ts'

export const ADMIN_KEY = 'the-admin-key-of-this-gateway-0123456789'

/** A request to the gateway. A path is sent as it is. */
export interface Sent {
  readonly method?: string
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Told {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Record<string, unknown>
}

/** The gateway over one store, with two organisations that have a key and an operator each. */
export interface Administered extends AsyncDisposable {
  readonly app: WorkerApp
  readonly limiter: Limiter
  readonly send: (path: string, sent?: Sent) => Promise<Told>
  /** Keys by name: those of acme and globex, and of their operators. */
  readonly keys: Readonly<Record<'acme' | 'globex' | 'acmeOperator' | 'globexOperator', Made>>
  /** Lets the operators ask again: each has 60 requests a minute. */
  readonly refill: () => Promise<void>
  /** Counts requests of an operator. `all` is the tenant of `ADMIN_KEY`, and `admin` its name. */
  readonly count: (tenant: string, operator: string, requests: number) => Promise<void>
  /** All keys and settings, as the store has them. */
  readonly state: () => Promise<unknown>
}

interface Made {
  readonly key: string
  readonly id: string
}

/** Starts the gateway over Durable Objects, or over a Redis. */
export async function startAdministered(
  over: 'objects' | 'redis' = 'objects',
): Promise<Administered> {
  const redis = over === 'redis' ? await startKeys() : undefined
  const variables = { ...OPERATED, ADMIN_KEY, ...(redis && settingsOf(redis.store)) }
  const app = await startGateway(variables)
  const { limiter } = redis ?? keysOf(app)
  const make = async (tenant: string, role?: string): Promise<Made> =>
    createApiKey(limiter, { tenant, plan: 'growth', ...(role !== undefined && { role }) })
  const keys = {
    acme: await make('acme'),
    globex: await make('globex'),
    acmeOperator: await make('acme', 'operator'),
    globexOperator: await make('globex', 'operator'),
  }
  const calls = operatorCalls(runtimeOf(limiter).store)
  return {
    app,
    limiter,
    keys,
    send: (path, sent = {}) => send(app.url, path, sent),
    async refill() {
      await calls.reset({ tenant: 'all', operator: 'admin' })
      await calls.reset({ tenant: 'acme', operator: keys.acmeOperator.id })
      await calls.reset({ tenant: 'globex', operator: keys.globexOperator.id })
    },
    async count(tenant, operator, request) {
      await calls.check({ tenant, operator }, { cost: { request } })
    },
    async state() {
      const listed = await Promise.all(
        ['acme', 'globex'].map((tenant) => listApiKeys(limiter, tenant)),
      )
      return {
        keys: listed.flat().map(({ lastUsedAt: _lastUsedAt, ...key }) => key),
        settings: await readConfiguration(limiter),
      }
    },
    async [Symbol.asyncDispose]() {
      await app.stop()
      await redis?.store[Symbol.asyncDispose]()
    },
  }
}

let addresses = 0

/** Sends a request as it is: `fetch` would change the path. Each comes from another address, unless it names one. */
function send(url: string, path: string, sent: Sent): Promise<Told> {
  const { method = 'GET', key = ADMIN_KEY, body, headers = {} } = sent
  const { hostname, port } = new URL(url)
  addresses += 1
  const content = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
  const length = String(Buffer.byteLength(content))
  const all = {
    ...(key !== '' && { authorization: `Bearer ${key}` }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': length }),
    'cf-connecting-ip': `2001:db8::${addresses.toString(16)}`,
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, headers: all }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const told = new Headers()
        for (let at = 0; at < answer.rawHeaders.length; at += 2)
          told.append(answer.rawHeaders[at] ?? '', answer.rawHeaders[at + 1] ?? '')
        resolve({ status: answer.statusCode ?? 0, headers: told, text, json: jsonOf(text) })
      })
    })
    request.on('error', reject)
    request.end(content)
  })
}

function jsonOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
