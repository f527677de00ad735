import {
  createDashboard,
  dashboardHandler,
  type MakeReport,
  type Report,
  type ShadowView,
} from '@sluice/dashboard'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { eventsIn } from './support.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Watches a dashboard for a while, and returns the data of the events that it sent. */
async function watch(report: MakeReport, ms: number, dashboard = createDashboard({ report })) {
  const handler = dashboardHandler(dashboard, { authorize: () => true })
  const abort = new AbortController()
  const response = await handler(new Request('http://localhost/', { signal: abort.signal }))
  const text = response.text()
  await vi.advanceTimersByTimeAsync(ms)
  abort.abort()
  return eventsIn(await text).map(({ data }) => data)
}

const FOUND = { tenant: 'acme', text: 'acme used 95% of its day.' }
const SHADOW: ShadowView = {
  policy: 'next',
  requests: 6,
  denied: 3,
  tokens: 520,
  usd: 0,
  tenants: [{ tenant: 'acme', denied: 2 }],
}

it('is made every ten seconds, and sent when it changes', async () => {
  const make = vi
    .fn<MakeReport>()
    .mockResolvedValueOnce({ findings: [], shadow: [] })
    .mockResolvedValue({ findings: [FOUND], shadow: [SHADOW] })
  const events = await watch(make, 25_000)
  expect(make).toHaveBeenCalledTimes(3)
  expect(events.at(-1)).toMatchObject({ findings: [FOUND], shadow: [SHADOW] })
  expect(events.length).toBeLessThanOrEqual(3)
})

it('is not made while nobody watches', async () => {
  const make = vi.fn<MakeReport>().mockResolvedValue({})
  createDashboard({ report: make })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(make).not.toHaveBeenCalled()
})

it('that fails is a problem on the page, and in the log', async () => {
  const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const events = await watch(() => Promise.reject(new Error('no store')), 2_000)
  expect(events.at(-1)).toMatchObject({ problems: [{ code: 'report_failed' }] })
  expect(errors).toHaveBeenCalledTimes(1)
  errors.mockRestore()
})

it('goes when the dashboard forgets, with one that is being made, and is made anew', async () => {
  let finish: ((report: Report) => void) | undefined
  const slow = new Promise<Report>((resolve) => (finish = resolve))
  const make = vi
    .fn<MakeReport>()
    .mockResolvedValueOnce({ findings: [FOUND] })
    .mockReturnValueOnce(slow)
    .mockResolvedValue({ findings: [] })
  const dashboard = createDashboard({ report: make })
  await watch(make, 11_000, dashboard)
  expect(dashboard.view().findings).toEqual([FOUND])
  dashboard.forget()
  expect(dashboard.view().findings).toBeUndefined()
  finish?.({ findings: [FOUND] })
  await slow
  expect(dashboard.view().findings).toBeUndefined()
  await watch(make, 1_000, dashboard)
  expect(dashboard.view().findings).toEqual([])
})
