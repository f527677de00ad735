import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { within } from '../../packages/queue/src/sleeper.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it.each<[how: string, done: () => Promise<void>, told: unknown]>([
  ['resolves', () => Promise.resolve(), true],
  ['rejects', () => Promise.reject(new Error('It failed.')), new Error('It failed.')],
])('leaves no timer behind when the work %s', async (_, done, told) => {
  expect(await within(done(), 25_000).catch((error: unknown) => error)).toEqual(told)
  expect(vi.getTimerCount()).toBe(0)
})

it('stops waiting for work that takes too long', async () => {
  const isOver = within(new Promise(() => {}), 25_000)
  await vi.advanceTimersByTimeAsync(24_999)
  expect(vi.getTimerCount()).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver).toBe(false)
})
