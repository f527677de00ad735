import { createDashboard, dashboardHandler, type View } from '@sluice/dashboard'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventsIn, setup } from '../support.ts'

const KEY = 'k'.repeat(32)
const URL_OF_STREAM = 'http://localhost/api/dashboard'
const cost = { token: 1, usd: 1 }
const subject = { tenant: 'acme', route: 'ask' }
const allow = { authorize: () => true }

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

/** Reads a stream as it comes. */
function reading(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    async until(done: (text: string) => boolean): Promise<string> {
      while (!done(text)) {
        const { value, done: ended } = await reader.read()
        if (ended) break
        text += decoder.decode(value, { stream: true })
      }
      return text
    },
    stop: () => reader.cancel(),
  }
}

const adminIn = (request: Request): string | false => request.headers.get('x-admin') ?? false

const isAdmin = (request: Request): boolean => request.headers.get('cookie') === 'session=admin'

const viewIn = (event: { data: unknown } | undefined): View => event?.data as View

const batch = (...records: unknown[]): string =>
  JSON.stringify({ source: 'edge-1', first: 0, records })

type Sent = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> }

const hasEvents = (count: number) => (text: string) => eventsIn(text).length >= count

describe('dashboardHandler', () => {
  it('begins with everything and goes on with what changes', async () => {
    const { dashboard, limiter } = setup()
    await limiter.check(subject, { cost })
    const response = await dashboardHandler(dashboard, allow)(new Request(URL_OF_STREAM))
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toContain('no-store')
    const stream = reading(response)
    await stream.until(hasEvents(1))
    await limiter.check({ ...subject, tenant: 'other' }, { cost })
    const [first, second] = eventsIn(await stream.until(hasEvents(2)))
    await stream.stop()
    expect(first).toMatchObject({ name: 'snapshot', data: { totals: { allowed: 1 } } })
    expect(second).toMatchObject({ name: 'update', data: { totals: { allowed: 2 } } })
    expect(viewIn(second).tenants.map(({ tenant }) => tenant)).toEqual(['other'])
  })

  it('resumes by Last-Event-ID, and begins anew after a restart or a reset', async () => {
    const { dashboard, limiter } = setup()
    const handler = dashboardHandler(dashboard, allow)
    const firstEvent = async (id?: string) => {
      const headers = id === undefined ? undefined : { 'last-event-id': id }
      const stream = reading(
        await handler(new Request(URL_OF_STREAM, { ...(headers && { headers }) })),
      )
      const [event] = eventsIn(await stream.until(hasEvents(1)))
      await stream.stop()
      return event
    }
    await limiter.check(subject, { cost })
    const snapshot = await firstEvent()
    await limiter.check({ ...subject, tenant: 'missed' }, { cost })
    const update = await firstEvent(snapshot?.id)
    expect(update?.name).toBe('update')
    expect(viewIn(update).tenants.map(({ tenant }) => tenant)).toEqual(['missed'])
    expect((await firstEvent('another-run.0.1'))?.name).toBe('snapshot')
    dashboard.forget()
    expect(await firstEvent(update?.id)).toMatchObject({ name: 'snapshot', data: { tenants: [] } })
  })

  it('sends a heartbeat while nothing happens', async () => {
    vi.useFakeTimers()
    const { dashboard } = setup()
    const stream = reading(await dashboardHandler(dashboard, allow)(new Request(URL_OF_STREAM)))
    const text = stream.until((read) => read.includes(': still here'))
    await vi.advanceTimersByTimeAsync(16_000)
    expect(await text).toContain(': still here')
    await stream.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends its timer when the reader goes away', async () => {
    vi.useFakeTimers()
    const { dashboard } = setup()
    const abort = new AbortController()
    const { signal } = abort
    await dashboardHandler(dashboard, allow)(new Request(URL_OF_STREAM, { signal }))
    expect(vi.getTimerCount()).toBe(1)
    abort.abort()
    expect(vi.getTimerCount()).toBe(0)
    // A request may be over before its stream begins.
    await dashboardHandler(dashboard, allow)(new Request(URL_OF_STREAM, { signal }))
    expect(vi.getTimerCount()).toBe(0)
  })

  it('cannot be made without saying who may look', () => {
    const dashboard = createDashboard()
    // @ts-expect-error -- does not compile, either
    expect(() => dashboardHandler(dashboard, {})).toThrow('dashboardHandler.authorize')
    // @ts-expect-error -- neither does this
    expect(() => dashboardHandler(dashboard, { authorize: true })).toThrow('must be a function')
  })

  it('admits only whom authorize admits', async () => {
    const dashboard = createDashboard()
    const handler = dashboardHandler(dashboard, { authorize: isAdmin })
    expect((await handler(new Request(URL_OF_STREAM))).status).toBe(403)
    const cookie = { cookie: 'session=admin' }
    const admitted = await handler(new Request(URL_OF_STREAM, { headers: cookie }))
    expect(admitted.status).toBe(200)
    await admitted.body?.cancel()
  })

  it.each([
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://admin.app.example' }, 200],
    // An address that somebody has typed, and a request of a server.
    [{ 'sec-fetch-site': 'none' }, 200],
    [{}, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }, 403],
    [{ origin: 'https://app.example' }, 200],
    [{ origin: 'https://public.example', 'x-forwarded-host': 'public.example' }, 200],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'https://app.example.evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ] as const)('answers pages of the same site only: %j is %i', async (headers, status) => {
    let authorized = 0
    const handler = dashboardHandler(createDashboard(), {
      authorize: () => (authorized += 1) > 0,
      relayKey: KEY,
      why: () => Promise.resolve(new Response('{}')),
    })
    const ask = async (address: string, init: Sent = {}): Promise<number> => {
      const url = `https://app.example/api/dashboard${address}`
      const response = await handler(
        new Request(url, { ...init, headers: { ...headers, ...init.headers } }),
      )
      await response.body?.cancel()
      return response.status
    }
    expect(await ask('')).toBe(status)
    expect(await ask('', { headers: { 'last-event-id': 'a.0.1' } })).toBe(status)
    expect(await ask('?why={"tenant":"acme"}')).toBe(status)
    expect(authorized).toBe(status === 200 ? 3 : 0)
    // Records are for whoever has the key, which no page has.
    expect(await ask('', { method: 'POST', body: batch() })).toBe(403)
    const bearer = { authorization: `Bearer ${KEY}` }
    expect(await ask('', { method: 'POST', body: batch(), headers: bearer })).toBe(204)
  })

  it.each([
    ['development', 'localhost:3000', 200],
    ['development', 'dashboard.example', 403],
    ['development', undefined, 403],
    ['production', 'localhost:3000', 403],
    ['', 'localhost:3000', 403],
  ])('in development is open in mode %j for host %s: %i', async (mode, host, status) => {
    vi.stubEnv('NODE_ENV', mode)
    const handler = dashboardHandler(createDashboard(), { authorize: 'development' })
    const headers = host === undefined ? {} : { host }
    const response = await handler(new Request(URL_OF_STREAM, { headers }))
    await response.body?.cancel()
    expect(response.status).toBe(status)
  })

  it.each([
    [{ 'x-forwarded-for': '127.0.0.1' }, 200],
    [{ 'x-forwarded-for': '::1' }, 200],
    [{ 'x-forwarded-for': '::ffff:127.0.0.1' }, 200],
    [{ 'x-forwarded-for': '192.168.1.7' }, 403],
    [{ 'x-forwarded-for': '127.0.0.1, 192.168.1.7' }, 403],
    [{ 'x-real-ip': '10.0.0.3' }, 403],
    [{ forwarded: 'for="[2001:db8::7]:4711";proto=http' }, 403],
    [{ forwarded: 'for=127.0.0.1;proto=http' }, 200],
  ])(
    'in development believes no host that another machine sends: %j is %i',
    async (sender, status) => {
      vi.stubEnv('NODE_ENV', 'development')
      const handler = dashboardHandler(createDashboard(), { authorize: 'development' })
      const headers = { host: 'localhost:3000', ...sender } as Record<string, string>
      const response = await handler(new Request(URL_OF_STREAM, { headers }))
      await response.body?.cancel()
      expect(response.status).toBe(status)
    },
  )

  it('gives each name ten streams, so that the tabs of one leave room for others', async () => {
    const handler = dashboardHandler(createDashboard(), { authorize: adminIn })
    const open = (admin: string) =>
      handler(new Request(URL_OF_STREAM, { headers: { 'x-admin': admin } }))
    const tabs = await Promise.all(Array.from({ length: 12 }, () => open('ann')))
    expect(tabs.map(({ status }) => status)).toEqual([...Array<number>(10).fill(200), 429, 429])
    const other = await open('bob')
    expect(other.status).toBe(200)
    await tabs[0]?.body?.cancel()
    const again = await open('ann')
    expect(again.status).toBe(200)
    for (const { body } of [...tabs, other, again]) await body?.cancel()
    expect((await open('')).status).toBe(403)
  })

  it('sends long names cut, and still apart', async () => {
    const { dashboard, limiter } = setup()
    const long = 'x'.repeat(100_000)
    for (let number = 0; number < 200; number += 1) {
      const call = {
        tenant: `${long}${number}`,
        route: `${long}${number}`,
        call: `${long}${number}`,
      }
      await limiter.check(call, { cost })
    }
    const stream = reading(await dashboardHandler(dashboard, allow)(new Request(URL_OF_STREAM)))
    const text = await stream.until(hasEvents(1))
    await stream.stop()
    const tenants = viewIn(eventsIn(text)[0]).tenants.map(({ tenant }) => tenant)
    expect(new Set(tenants).size).toBe(200)
    expect(text.length).toBeLessThan(1_000_000)
  })

  it('takes records only with the key, and only what relay sends', async () => {
    const { dashboard } = setup()
    const handler = dashboardHandler(dashboard, { ...allow, relayKey: KEY })
    const post = async (key: string, body: string) =>
      (
        await handler(
          new Request(URL_OF_STREAM, {
            method: 'POST',
            body,
            headers: { authorization: `Bearer ${key}` },
          }),
        )
      ).status
    const record = { type: 'problem', code: 'x', message: 'y' }
    const problem = batch(record)
    expect(await post('k'.repeat(31), problem)).toBe(403)
    expect(await post(KEY, batch({ type: 'decision' }))).toBe(400)
    expect(await post(KEY, '{')).toBe(400)
    expect(await post(KEY, batch({ type: 'constructor' }))).toBe(400)
    const first = [-1, 0.5, 2 ** 53, '0', undefined]
    for (const wrong of [
      ...first.map((one) => ({ first: one })),
      { source: '' },
      { records: {} },
    ]) {
      const fields = { source: 'edge-1', first: 0, records: [record], ...wrong }
      expect(await post(KEY, JSON.stringify(fields))).toBe(400)
    }
    expect(await post(KEY, JSON.stringify([record]))).toBe(400)
    for (const policies of [{}, [null]]) {
      const names = { limiter: 'edge', tenant: 'acme', call: '1' }
      const decision = { type: 'decision', ...names, at: 0, allowed: true, estimateUsd: 0 }
      expect(await post(KEY, batch({ ...decision, policies }))).toBe(400)
    }
    expect(await post(KEY, problem)).toBe(204)
    expect(dashboard.view().problems).toHaveLength(1)
    expect(() => dashboardHandler(dashboard, { ...allow, relayKey: 'short' })).toThrow('relayKey')
    const closed = dashboardHandler(dashboard, allow)
    expect(
      (await closed(new Request(URL_OF_STREAM, { method: 'POST', body: problem }))).status,
    ).toBe(403)
  })
})
