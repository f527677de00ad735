import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { adjust, balance } from '@sluice/core/credits'
import { SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { MODELS } from '../support/models.ts'
import { PATIENTLY } from '../support/patience.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'
import { DAY } from '../support/times.ts'

const PAGE = 'recipes/credits.md'
const SECRET = Buffer.from('a secret of thirty-two characters').toString('base64')
const ACME = { tenant: 'acme' }
const AUTH = `import { jwtSubject } from '@sluice/core/jwt'
export const tenantFromJwt = jwtSubject({
  secret: () => process.env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})`

type Handler = (request: Request) => Promise<Response>

let folder: string
let limiter: Limiter
let webhook: Handler
beforeEach(async () => {
  folder = await pageFolder('credits-recipe')
  vi.stubEnv('WEBHOOK_SECRET', `whsec_${SECRET}`)
  vi.stubEnv('JWT_SECRET', SECRET)
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-a-test')
  writeFileSync(join(folder, 'auth.ts'), AUTH)
  writeFileSync(join(folder, 'limits.ts'), patient(readBlock(PAGE, 'limits.ts'), freshPrefix()))
  ;({ limiter } = (await import(join(folder, 'limits.ts'))) as { limiter: Limiter })
  ;({ POST: webhook } = await importBlock<{ POST: Handler }>(folder, PAGE, 'webhook.ts'))
})

afterEach(() => vi.restoreAllMocks())

interface Sent {
  readonly secret?: string
  readonly sentAt?: number
  readonly id?: string
}

/** Sends an event, signed as Standard Webhooks says. */
async function send(
  type: string,
  data: object,
  { secret = SECRET, sentAt = Math.floor(Date.now() / 1_000), id = 'msg_1' }: Sent = {},
): Promise<number> {
  const body = JSON.stringify({ type, data })
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const bytes = Buffer.from(secret, 'base64')
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
  const signed = await crypto.subtle.sign('HMAC', key, Buffer.from(`${id}.${sentAt}.${body}`))
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(sentAt),
    'webhook-signature': `v1a,abc v1,${Buffer.from(signed).toString('base64')}`,
  }
  const url = 'https://app.example/webhooks/checkout'
  return webhook(new Request(url, { method: 'POST', headers, body })).then(
    ({ status }) => status,
    () => 500,
  )
}

const paid = (more: object = {}) => ({
  paymentId: 'pay_1',
  tenant: 'acme',
  cents: 1_999,
  paidAt: new Date().toISOString(),
  ...more,
})

const daysAgo = (days: number): object => ({
  paidAt: new Date(Date.now() - days * DAY).toISOString(),
})

describe('the webhook of the recipe', () => {
  it('grants a payment once, by whatever number of events', async () => {
    const payment = paid()
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send('checkout.paid', payment, { id: `msg_${at}` })),
    )
    expect(new Set(statuses)).toEqual(new Set([204]))
    expect((await balance(limiter, ACME)).available).toBe(usd(19.99))
  })

  it('refuses events that nobody has signed, or long ago', async () => {
    const old = Math.floor(Date.now() / 1_000) - 3_600
    const other = Buffer.from('another secret of many characters').toString('base64')
    expect(await send('checkout.paid', paid(), { secret: other })).toBe(401)
    expect(await send('checkout.paid', paid(), { sentAt: old })).toBe(401)
    const unsigned = new Request('https://app.example/', { method: 'POST', body: '{}' })
    expect((await webhook(unsigned)).status).toBe(401)
    expect((await balance(limiter, ACME)).available).toBe(0)
  })

  it.each(['v1,a', 'v1,_', 'v1,', 'v1', `v1,${'A'.repeat(43)}=`, `v1,${'='.repeat(44)}`])(
    'refuses the signature %s',
    async (signature) => {
      const sentAt = String(Math.floor(Date.now() / 1_000))
      const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': sentAt }
      const request = new Request('https://app.example/', { method: 'POST', headers, body: '{}' })
      request.headers.set('webhook-signature', signature)
      expect((await webhook(request)).status).toBe(401)
    },
  )

  it('revokes a refund, also one that comes before its payment', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    expect(await send('checkout.refunded', paid())).toBe(500)
    expect(await send('checkout.paid', paid())).toBe(204)
    expect(await send('checkout.refunded', paid())).toBe(204)
    expect(await send('checkout.refunded', paid())).toBe(204)
    expect(await balance(limiter, ACME)).toMatchObject({ available: 0, debt: 0 })
  })

  it.each([
    ['a time in seconds', { paidAt: 1_790_000_000 }, 'milliseconds'],
    ['no time', { paidAt: undefined }, 'at: must be'],
    ['a time of null', { paidAt: null }, 'InputError'],
    ['a time of last year', daysAgo(365), '90 days'],
    ['no amount', { cents: undefined }, 'usd'],
    ['an amount of null', { cents: null }, 'amount'],
    ['an amount of nothing', { cents: 0 }, 'amount'],
    ['an amount below 0', { cents: -5 }, 'usd'],
    ['no id', { paymentId: undefined }, 'id'],
    ['no tenant', { tenant: undefined }, 'tenant'],
    ['a tenant of null', { tenant: null }, 'tenant'],
    ['a tenant without a name', { tenant: '' }, 'tenant'],
  ])('answers an error to %s, so that the payment comes again', async (_name, wrong, why) => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    expect(await send('checkout.paid', paid(wrong))).toBe(500)
    expect(String(errors.mock.lastCall?.[1])).toContain(why)
    expect((await balance(limiter, ACME)).available).toBe(0)
    expect(await send('checkout.paid', paid())).toBe(204)
    expect((await balance(limiter, ACME)).available).toBe(usd(19.99))
  })

  it('answers an error to a known id with another amount, and to a type that it does not know', async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    expect(await send('checkout.paid', paid())).toBe(204)
    expect(await send('checkout.paid', paid({ cents: 500 }))).toBe(500)
    expect(errors.mock.lastCall?.[0]).toContain('pay_1')
    expect(await send('checkout.completed', paid())).toBe(500)
    expect(String(errors.mock.lastCall?.[1])).toContain('checkout.completed')
    expect((await balance(limiter, ACME)).available).toBe(usd(19.99))
  })

  it('acknowledges the refund of a forgotten payment, and logs it', async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    expect(await send('checkout.refunded', paid(daysAgo(89)))).toBe(500)
    expect(await send('checkout.refunded', paid(daysAgo(91)))).toBe(204)
    expect(errors.mock.lastCall?.[0]).toContain('the payment pay_1 of acme, checkout.refunded')
    expect(String(errors.mock.lastCall?.[1])).toContain('use adjust')
  })
})

/** Answers calls of the model with so many tokens of output; other requests go on. */
function stubModel(tokens: number): void {
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) => {
    if (!url.startsWith('https://api.openai.com')) return fetch(url, init)
    const usage = { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens }
    const message = { role: 'assistant', content: 'Because.' }
    return Promise.resolve(
      Response.json({ model: MODELS.openai, choices: [{ message, index: 0 }], usage }),
    )
  })
}

async function signedIn(): Promise<{ authorization: string }> {
  const token = await new SignJWT(ACME)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET))
  return { authorization: `Bearer ${token}` }
}

it('the page of the customer shows parts of cents, and the sign of what was taken', async () => {
  const { GET: account } = await importBlock<{ GET: Handler }>(folder, PAGE, 'account.ts')
  const at = new Date()
  await adjust(limiter, ACME, { amount: usd(7.015), id: 'adjust_1', at, reason: 'Outage' })
  await adjust(limiter, ACME, { amount: -usd(7), id: 'adjust_2', at, reason: 'Partial refund' })
  const headers = await signedIn()
  const page = await (await account(new Request('https://app.example/', { headers }))).text()
  expect(page).toContain('$0.015 left')
  expect(page).toMatch(/: -\$7\.00 adjusted<li>.*: \$7\.015 adjusted/)
})

it('a chat spends what was paid, and the page of the customer shows what is left', async () => {
  const { POST: chat } = await importBlock<{ POST: Handler }>(folder, PAGE, 'chat.ts')
  const { GET: account } = await importBlock<{ GET: Handler }>(folder, PAGE, 'account.ts')
  const { authorization } = await signedIn()
  const ask = async () => {
    const body = JSON.stringify({
      model: 'gpt-6.2-sol',
      max_completion_tokens: 1_000,
      messages: [{ role: 'user', content: 'Why?' }],
    })
    const headers = { authorization, 'content-type': 'application/json' }
    const url = 'https://app.example/api/chat'
    const answer = await chat(new Request(url, { method: 'POST', headers, body }))
    const text = await answer.text()
    return [answer.status, /https:[\w./]+/.exec(text)?.[0]]
  }
  const shown = async (headers: HeadersInit = { authorization }) => {
    const answer = await account(new Request('https://app.example/account', { headers }))
    const [, left, history = ''] = /<h1>(.*)<\/h1>[^]*<h2>([^]*)/.exec(await answer.text()) ?? []
    return [answer.status, left, / \$\S+ granted/.exec(history)?.[0]]
  }
  stubModel(1_000)
  expect(await shown()).toEqual([200, '$0.00 left', undefined])
  expect(await ask()).toEqual([402, 'https://app.example/credits'])
  await send('checkout.paid', paid({ cents: 100 }))
  expect(await shown()).toEqual([200, '$1.00 left', ' $1.00 granted'])
  expect(await ask()).toEqual([200, undefined])
  await vi.waitFor(async () => expect((await balance(limiter, ACME)).held).toBe(0), PATIENTLY)
  expect(await shown()).toEqual([200, '$0.986976 left', ' $1.00 granted'])
  expect(await shown({})).toEqual([401, undefined, undefined])
})
