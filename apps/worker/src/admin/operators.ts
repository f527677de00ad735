import { createLimiter, slidingWindow, type Limiter, type Subject } from '@sluice/core'
import { apiKeys } from '@sluice/core/api-keys'
import { Refusal, refuse } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import type { KeyVerifier } from '../keys.ts'

/** Somebody who administers the gateway. */
export interface Operator {
  /** `admin` for `ADMIN_KEY`, or else the name of an API key. */
  readonly id: string
  /** The only organisation that it may see and change. @default all */
  readonly tenant?: string | undefined
}

/** The role of an API key that administers its tenant. No key with a role may call a model. */
export const OPERATOR_ROLE = 'operator'

const ADMIN = 'admin'

const INVALID = refuse({
  status: 401,
  code: 'invalid_admin_key',
  message: 'This operator key is missing, unknown, expired or revoked.',
  headers: { 'WWW-Authenticate': 'Bearer' },
})

const TOO_MANY_GUESSES = refuse({
  status: 429,
  code: 'too_many_guesses',
  message: 'Too many keys of this address were wrong. Wait a minute.',
  headers: { 'Retry-After': '60' },
})

/**
 * Creates a verifier of operators: `ADMIN_KEY`, and API keys with the role `operator`. Wrong keys are counted by address
 * in the memory of an isolate, before anything is looked up: a flood of them does not reach the store.
 */
export function operatorVerifier(limiter: Limiter, adminKey: string): KeyVerifier {
  const find = apiKeys(limiter)
  const guesses = createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'guesses', limit: 20, window: '1m', per: ['address'] })],
  })
  return async (request) => {
    const key = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    if (key === undefined) return INVALID
    if (await isSame(key, adminKey)) return { role: OPERATOR_ROLE, key: ADMIN }
    const address = request.headers.get('cf-connecting-ip') ?? 'unknown'
    const guess = await reserve(guesses, { address }, { settleWithin: '1m' })
    if (!guess.allowed) return TOO_MANY_GUESSES
    const found = (await find(request)) ?? INVALID
    if (found instanceof Refusal) return found
    if (dimension(found, 'role') !== OPERATOR_ROLE) return INVALID
    await guess.cancel()
    return found
  }
}

/** Returns the operator of a subject that the verifier has found. */
export const operatorOf = (subject: Subject): Operator => ({
  id: dimension(subject, 'key') ?? ADMIN,
  tenant: subject.tenant,
})

const dimension = (subject: Subject, name: string): string | undefined =>
  (subject as Readonly<Record<string, string | undefined>>)[name]

/** Compares two secrets, in a time that tells nothing about them. */
async function isSame(given: string, secret: string): Promise<boolean> {
  const [a = [], b = []] = await Promise.all([given, secret].map(digestOf))
  return a.reduce((difference, byte, at) => difference | (byte ^ (b[at] ?? 0)), 0) === 0
}

async function digestOf(text: string): Promise<number[]> {
  return [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))]
}
