import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newChatter } from './support/chat.ts'
import { startNext } from './support/next-app.ts'
import { startTarget, type App, type Target } from './support/target.ts'
import { SECRET, signed } from './support/tokens.ts'

const MEBIBYTE = 1024 * 1024
const STORE = { storeUrl: 'http://127.0.0.1:1', storeToken: 'none', secret: SECRET }
const STAND_IN = { ...STORE, upstreamUrl: '', upstreamKey: '' }
const REAL_MODEL = { ...STORE, upstreamUrl: 'http://127.0.0.1:1/v1', upstreamKey: 'real-key' }

/** Asks for a token under any `Host`, which `fetch` does not let be chosen. */
async function tokenStatus({ url }: App, host = new URL(url).host): Promise<number | undefined> {
  const headers = { host, 'content-type': 'application/json' }
  const sent = request(`${url}/api/demo/token`, { method: 'POST', headers })
  sent.end('{"tenant":"enterprise-1"}')
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

async function withDemo(
  settings: typeof STAND_IN,
  env: Record<string, string>,
  check: (app: App) => Promise<void>,
): Promise<void> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const app = await startNext(settings)
  vi.unstubAllEnvs()
  try {
    await check(app)
  } finally {
    await app.stop()
  }
}

describe('the tokens of the demo', () => {
  it('are only for this machine', () =>
    withDemo(STAND_IN, {}, async (app) => {
      const { port } = new URL(app.url)
      for (const host of ['localhost', '127.0.0.1', '[::1]', `localhost:${port}`]) {
        expect(await tokenStatus(app, host), `under ${host}`).toBe(200)
      }
      for (const host of [
        'demo.example',
        '10.0.0.1',
        'localhost.demo.example',
        '127.0.0.1.nip.io',
      ]) {
        expect(await tokenStatus(app, host), `under ${host}`).toBe(403)
      }
    }))

  it('are for nobody if a real model is behind it, unless DEMO_TOKENS says so', async () => {
    await withDemo(REAL_MODEL, {}, async (app) => {
      expect(await tokenStatus(app)).toBe(403)
    })
    await withDemo(REAL_MODEL, { DEMO_TOKENS: 'local' }, async (app) => {
      expect(await tokenStatus(app)).toBe(200)
      expect(await tokenStatus(app, 'demo.example')).toBe(403)
    })
  })

  it('are for anyone if DEMO_TOKENS says so', () =>
    withDemo(STAND_IN, { DEMO_TOKENS: 'anyone' }, async (app) => {
      expect(await tokenStatus(app, 'demo.example')).toBe(200)
    }))
})

describe('the dashboard of the demo', () => {
  it('is for this machine only, and runs nothing unless npm run demo has turned that on', () =>
    withDemo(STAND_IN, {}, async ({ url }) => {
      const status = async (method: string, path: string, host: string) => {
        const sent = request(`${url}${path}`, { method, headers: { host } })
        sent.end()
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        answer.destroy()
        return answer.statusCode
      }
      expect(await status('GET', '/api/dashboard', new URL(url).host)).toBe(200)
      expect(await status('GET', '/api/dashboard', 'demo.example')).toBe(403)
      expect(await status('POST', '/api/dashboard', new URL(url).host)).toBe(403)
      for (const path of ['/api/demo/reset', '/api/demo/scenarios/retry-storm']) {
        const answered = await status('POST', path, new URL(url).host)
        expect(answered, `at ${path}`).toBe(403)
      }
    }))
})

describe('npm start', () => {
  it('listens on this machine only', async () => {
    const demo = fileURLToPath(new URL('../../apps/demo', import.meta.url))
    const child = spawn('npm', ['start', '--', '-p', '0'], { cwd: demo, detached: true })
    try {
      let output = ''
      const port = await new Promise<number>((resolve) => {
        child.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString()
          const found = /Local:\s+http:\S+:(\d+)/.exec(output)?.[1]
          if (found !== undefined && output.includes('Ready in')) resolve(Number(found))
        })
      })
      const outside = Object.values(networkInterfaces())
        .flat()
        .filter((address) => address?.family === 'IPv4' && !address.internal)
      expect(await answers('127.0.0.1', port)).toBe(true)
      for (const address of outside) expect(await answers(address?.address ?? '', port)).toBe(false)
    } finally {
      // npm starts a shell that starts Next.
      process.kill(-(child.pid ?? 0), 'SIGTERM')
      await once(child, 'exit')
    }
  })
})

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

describe('the demo', () => {
  let demo: Target
  beforeAll(async () => {
    vi.stubEnv('DEMO_TOKENS', 'local')
    demo = await startTarget(startNext)
    vi.unstubAllEnvs()
  })
  afterAll(() => demo[Symbol.asyncDispose]())

  it('runs no script in its page except its own', async () => {
    const nonces = new Set<string>()
    for (const look of ['first', 'second']) {
      const page = await fetch(demo.url)
      const policy = page.headers.get('content-security-policy') ?? ''
      const [, nonce = ''] =
        /script-src 'nonce-([\w+/=-]{20,})' 'strict-dynamic'/.exec(policy) ?? []
      expect(nonce, `at the ${look} look`).not.toBe('')
      expect(policy).not.toMatch(/script-src[^;]*unsafe/)
      for (const directive of ["frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"]) {
        expect(policy).toContain(directive)
      }
      const scripts = [...(await page.text()).matchAll(/<script\b([^>]*)>/g)]
      expect(scripts.length).toBeGreaterThan(3)
      for (const [, attributes] of scripts) expect(attributes).toContain(`nonce="${nonce}"`)
      nonces.add(nonce)
    }
    expect(nonces.size).toBe(2)
  })

  it.each(['/', '/nowhere', '/api/limits', '/api/ai/evaluate', '/api/chat'])(
    'sends %s with headers against framing and sniffing',
    async (path) => {
      const { headers } = await fetch(demo.url + path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('permissions-policy')).toContain('camera=()')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('content-security-policy')).toMatch(/default-src '(none|self)'/)
      expect(headers.get('x-powered-by')).toBeNull()
    },
  )

  it('answers 413 to a body that is too large, before all of it has arrived', async () => {
    const token = await signed({ tenant: `safety-${Date.now()}`, plan: 'enterprise' })
    // Next.js lets what passes the middleware come to its end, and keeps none of it.
    const most = { '/api/chat': 20, '/api/demo/token': 20, '/api/ai/evaluate': 41 }
    for (const [path, mebibytes] of Object.entries(most)) {
      for (const length of [40 * MEBIBYTE, undefined]) {
        const { status, sent } = await pour(`${demo.url}${path}`, token, length)
        expect(status, `${path} of ${length ?? 'unknown'} bytes`).toBe(413)
        expect(sent).toBeLessThan(mebibytes * MEBIBYTE)
      }
    }
    expect(demo.upstream.requests).toHaveLength(0)
  })

  it('answers 400 to JSON that is nested too deeply, and reserves nothing', async () => {
    const { token, post, used } = await newChatter(demo)
    const before = await used()
    for (const field of ['response_format', 'tools']) {
      const body = `{"model":"gpt-6.2-sol","messages":[{"role":"user"}],"${field}":${nested(90_000)}}`
      const answer = await fetch(`${demo.url}/api/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body,
      })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_body' } })
    }
    expect(await used()).toEqual(before)
    expect((await post({ response_format: JSON.parse(nested(40)) })).status).toBe(200)
  })

  it('passes on only the fields that it knows, and refuses those that may cost more', async () => {
    const { post, used } = await newChatter(demo)
    const known = { temperature: 0, top_p: 1, stop: ['x'], seed: 7, verbosity: 'high' }
    await (await post({ ...known, max_tokens: 9, stream: true, stream_options: { x: 1 } })).text()
    const { messages: _messages, ...rest } = demo.upstream.requests.at(-1)?.body ?? {}
    expect(rest).toEqual({
      ...known,
      model: 'gpt-6.2-sol',
      max_completion_tokens: 9,
      stream: true,
      stream_options: { x: 1, include_usage: true },
    })
    const [asked, before] = [demo.upstream.requests.length, await used()]
    const costly = {
      service_tier: 'priority',
      web_search_options: {},
      prediction: { type: 'content', content: 'x' },
      modalities: ['audio'],
      audio: { voice: 'alloy', format: 'mp3' },
      [createHash('sha1').update('x').digest('hex')]: 1,
    }
    for (const [name, value] of Object.entries(costly)) {
      const answer = await post({ [name]: value })
      expect(answer.status, `with ${name}`).toBe(400)
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_body' } })
    }
    expect([demo.upstream.requests.length, await used()]).toEqual([asked, before])
  })
})

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** Sends zeros until the answer comes, or the connection goes. */
async function pour(url: string, token: string, length: number | undefined) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(length === undefined ? {} : { 'content-length': length }),
  }
  const sending = request(url, { method: 'POST', headers })
  const answer = { status: undefined as number | undefined }
  let sent = 0
  sending.on('error', () => {})
  const answered = once(sending, 'response').then(([response]: IncomingMessage[]) => {
    answer.status = response?.resume().statusCode
  })
  const chunk = Buffer.alloc(64 * 1024, '0')
  while (answer.status === undefined && !sending.destroyed && sent < 40 * MEBIBYTE) {
    sent += chunk.length
    if (!sending.write(chunk)) await Promise.race([once(sending, 'drain'), answered])
  }
  if (answer.status === undefined) sending.end()
  await answered
  sending.destroy()
  return { status: answer.status, sent }
}
