import {
  createLimiter,
  defineExtension,
  slidingWindow,
  type Extension,
  type Limiter,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { relay, type RelayOptions } from '@sluice/dashboard/relay'
import { afterEach, describe, expect, it, vi } from 'vitest'

const KEY = 'k'.repeat(32)
const target = () => ({ url: 'http://localhost/api/dashboard', key: KEY })

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})

const limiterWith = (options: Partial<RelayOptions> = {}, others: readonly Extension[] = []) =>
  createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })],
    extensions: [relay({ name: 'edge', target, ...options }), ...others],
  })

const withDefaults = (): Limiter =>
  createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })],
    extensions: [relay()],
  })

async function check(limiter: Limiter): Promise<void> {
  const background: Promise<unknown>[] = []
  await limiter.check({ tenant: 'acme' }, { waitUntil: (work) => void background.push(work) })
  await Promise.all(background)
}

/** Makes `fetch` reach the handler of a new dashboard. */
function receiving() {
  const dashboard = createDashboard()
  const handler = dashboardHandler(dashboard, { authorize: () => true, relayKey: KEY })
  const sent = vi.fn<(url: string, init: RequestInit) => Promise<Response>>((url, init) =>
    handler(new Request(url, init)),
  )
  vi.stubGlobal('fetch', sent)
  return { dashboard, sent }
}

describe('relay', () => {
  it('sends the decisions of an isolate in one batch, as background work of the request', async () => {
    const { dashboard, sent } = receiving()
    const limiter = limiterWith()
    const background: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>) => void background.push(work)
    for (let index = 0; index < 3; index += 1)
      await limiter.check({ tenant: 'acme' }, { waitUntil })
    await Promise.all(background)
    expect(sent).toHaveBeenCalledTimes(1)
    expect(dashboard.view().totals).toMatchObject({ allowed: 2, denied: 1 })
  })

  it('does nothing without a target', async () => {
    const sent = vi.fn<typeof fetch>()
    vi.stubGlobal('fetch', sent)
    vi.useFakeTimers()
    await limiterWith({ target: () => undefined }).check({ tenant: 'acme' })
    expect(vi.getTimerCount()).toBe(0)
    expect(sent).not.toHaveBeenCalled()
  })

  it('says once that the dashboard does not answer, and disturbs no decision', async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const sent = vi.fn<typeof fetch>().mockRejectedValue(new TypeError('refused'))
    vi.stubGlobal('fetch', sent)
    vi.useFakeTimers()
    const limiter = limiterWith()
    for (let index = 0; index < 2; index += 1) {
      expect(await limiter.check({ tenant: 'acme' })).toMatchObject({ allowed: true })
      await vi.advanceTimersByTimeAsync(300)
    }
    expect(errors).toHaveBeenCalledTimes(1)
    expect(errors.mock.calls[0]?.[0]).toContain('sent again with the next ones')
    errors.mockRestore()
    // It does not send what it says of itself.
    expect(sent.mock.calls.map(([, init]) => init?.body)).toEqual([
      expect.not.stringContaining('problem'),
      expect.not.stringContaining('problem'),
    ])
  })

  it('goes on after a request that ended before its timer', async () => {
    const { dashboard, sent } = receiving()
    vi.useFakeTimers()
    const limiter = limiterWith()
    await limiter.check({ tenant: 'acme' })
    vi.clearAllTimers()
    await vi.advanceTimersByTimeAsync(2_000)
    const background: Promise<unknown>[] = []
    await limiter.check({ tenant: 'acme' }, { waitUntil: (work) => void background.push(work) })
    await vi.advanceTimersByTimeAsync(200)
    vi.useRealTimers()
    await Promise.all(background)
    expect(sent).toHaveBeenCalledTimes(1)
    expect(dashboard.view().totals).toMatchObject({ allowed: 2 })
  })

  it('keeps its sending running with its own waitUntil, for events that have none', async () => {
    const { dashboard } = receiving()
    const background: Promise<unknown>[] = []
    const limiter = limiterWith({ waitUntil: (work) => void background.push(work) })
    await limiter.check({ tenant: 'acme' })
    expect(background).toHaveLength(1)
    await Promise.all(background)
    expect(dashboard.view().totals).toMatchObject({ allowed: 1 })
  })

  it('sends much in several batches, each as short as the handler takes it', async () => {
    const { dashboard, sent } = receiving()
    const background: Promise<unknown>[] = []
    const limiter = limiterWith({ waitUntil: (work) => void background.push(work) })
    const tenant = 'a'.repeat(10_000)
    await Promise.all(Array.from({ length: 2_000 }, () => limiter.check({ tenant })))
    await Promise.all(background)
    expect(sent.mock.calls.length).toBeGreaterThan(1)
    expect(dashboard.view().totals).toMatchObject({ allowed: 2, denied: 1_998 })
  })

  it('sends the problems of other extensions', async () => {
    const { dashboard } = receiving()
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const background: Promise<unknown>[] = []
    const message = 'The archive does not answer'
    const failing = defineExtension({
      name: 'archive',
      connect: ({ problem }) => ({
        on: { decision: () => problem({ code: 'extension_failed', message }) },
      }),
    })
    const waitUntil = (work: Promise<unknown>) => void background.push(work)
    await limiterWith({ waitUntil }, [failing]).check({ tenant: 'acme' })
    await Promise.all(background)
    errors.mockRestore()
    expect(dashboard.view().problems).toMatchObject([{ code: 'extension_failed', message }])
  })
})

describe('relay without a target', () => {
  const { url } = target()

  it('sends to the address in the environment, which it reads at the first decision', async () => {
    const { dashboard, sent } = receiving()
    const limiter = withDefaults()
    vi.stubEnv('SLUICE_DASHBOARD_URL', url)
    vi.stubEnv('SLUICE_DASHBOARD_KEY', KEY)
    await check(limiter)
    expect(sent.mock.calls[0]?.[0]).toBe(url)
    expect(dashboard.view().totals).toMatchObject({ allowed: 1 })
  })

  it.each([
    ['neither variable', '', ''],
    ['no key', url, ''],
    ['no address', '', KEY],
  ])('sends nothing and starts no timer with %s', async (_, address, key) => {
    const { sent } = receiving()
    vi.useFakeTimers()
    vi.stubEnv('SLUICE_DASHBOARD_URL', address)
    vi.stubEnv('SLUICE_DASHBOARD_KEY', key)
    await check(withDefaults())
    expect(vi.getTimerCount()).toBe(0)
    expect(sent).not.toHaveBeenCalled()
  })

  it.each([
    ['no process', undefined],
    ['a process without an environment', {}],
  ])('sends nothing in a runtime with %s', async (_, process) => {
    const { sent } = receiving()
    const limiter = withDefaults()
    vi.stubGlobal('process', process)
    await check(limiter)
    expect(sent).not.toHaveBeenCalled()
  })
})
