import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  newKey,
  startKeyServer,
  text,
  type Key,
  type KeyServer,
} from '../core/identity/key-server.ts'
import { startWorker, type TestWorker } from './support.ts'

const JWT_SECRET = 'a secret of at least thirty-two characters'

let key: Key
let keys: KeyServer
let worker: TestWorker | undefined

beforeAll(async () => {
  key = await newKey('RS256', 'k1')
  keys = await startKeyServer([key.jwk])
})
afterEach(() => worker?.[Symbol.asyncDispose]())
afterAll(() => keys[Symbol.asyncDispose]())

const start = async (LIMIT = '20') =>
  (worker = await startWorker('app', { LIMIT, JWT_SECRET, JWKS_URL: keys.url }))

const ask = ({ url }: TestWorker, headers: Record<string, string>) =>
  fetch(new URL('/api/ai/evaluate', url), { method: 'POST', headers })

/** Sends `count` requests at once and counts the answers by status. */
async function burst(on: TestWorker, count: number, headers: Record<string, string>) {
  const answers = await Promise.all(Array.from({ length: count }, () => ask(on, headers)))
  const statuses: Record<number, number> = {}
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
  await Promise.all(answers.map((answer) => answer.text()))
  return statuses
}

const expiry = () => Math.floor(Date.now() / 1000) + 300

/** A JWT of a new tenant, signed with a secret. */
const sign = (secret: string) =>
  new SignJWT({ tenant: randomUUID() })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(expiry())
    .sign(new TextEncoder().encode(secret))

describe('25 at once against 20, in one isolate', () => {
  it('deny exactly 5, the first time and every time after', async () => {
    const on = await start()
    for (let round = 0; round < 5; round += 1)
      expect(await burst(on, 25, { 'x-tenant': randomUUID() })).toEqual({ 200: 20, 429: 5 })
  })

  it('deny exactly 5 when all of them wait for the keys of a cold isolate', async () => {
    const on = await start()
    const jwt = await key.sign({ tenant: randomUUID(), exp: expiry() })
    expect(await burst(on, 25, { 'x-key-jwt': jwt })).toEqual({ 200: 20, 429: 5 })
    const before = keys.requests
    const next = await key.sign({ tenant: randomUUID(), exp: expiry() })
    expect(await burst(on, 25, { 'x-key-jwt': next })).toEqual({ 200: 20, 429: 5 })
    expect(keys.requests).toBe(before)
  })

  it('make one round trip to Redis each, plus one that loads the script', async () => {
    const on = await start()
    await ask(on, { 'x-tenant': randomUUID() })
    const before = on.storeRequests
    await burst(on, 25, { 'x-tenant': randomUUID() })
    expect(on.storeRequests - before).toBe(25)
  })
})

describe('the subject of a request, in a Worker', () => {
  it('is read from a JWT whose secret is in env', async () => {
    const on = await start('1')
    const [good, forged] = [await sign(JWT_SECRET), await sign(JWT_SECRET.toUpperCase())]
    expect((await ask(on, { 'x-jwt': good })).status).toBe(200)
    expect((await ask(on, { 'x-jwt': good })).status).toBe(429)
    // It proves nothing, so it is the address that counts.
    const address = { 'cf-connecting-ip': '192.0.2.1' }
    expect((await ask(on, { ...address, 'x-jwt': forged })).status).toBe(200)
    expect((await ask(on, address)).status).toBe(429)
  })

  it('is the address, whatever its spelling', async () => {
    const on = await start('1')
    const from = async (address: string) => (await ask(on, { 'cf-connecting-ip': address })).status
    expect([await from('192.0.2.7'), await from('::ffff:c000:207')]).toEqual([200, 429])
    expect([await from('2001:db8::1'), await from('2001:DB8:0:0:ffff::2')]).toEqual([200, 429])
    expect(await from('2001:db8:0:100::1')).toBe(200)
    expect(await from('unknown')).toBe(401)
  })

  it('is unknown while the key server is down: 503, and nothing reaches Redis', async () => {
    const on = await start()
    const jwt = await key.sign({ tenant: randomUUID(), exp: expiry() })
    keys.answer = text(500, '')
    const before = on.storeRequests
    expect(await burst(on, 25, { 'x-key-jwt': jwt })).toEqual({ 503: 25 })
    expect(on.storeRequests).toBe(before)
  })
})
