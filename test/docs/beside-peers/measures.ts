import { vi } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { at } from '../coming-from/page.ts'
import { MINUTE, type Ask } from './peers.ts'

export const yesNo = (isSo: boolean): string => (isSo ? 'yes' : 'no')

/** Counts the calls of a method from now on. */
export function counted(object: object, method: string): () => number {
  const { mock } = vi.spyOn(object as Record<string, () => unknown>, method).mockClear()
  return () => mock.calls.length
}

/** Asks one time, 99 times at the end of that minute, and as often as may pass at both ends of the next. */
export async function worstMinute(ask: Ask): Promise<string> {
  const passed: number[] = []
  for (const [ms, times] of [
    [0, 1],
    [MINUTE - 1, 99],
    [MINUTE, 100],
    [2 * MINUTE - 2, 100],
  ] as const) {
    at(ms)
    for (let sent = 0; sent < times; sent += 1) if (await ask()) passed.push(ms)
  }
  const within = (from: number) => passed.filter((ms) => ms >= from && ms < from + MINUTE).length
  return String(Math.max(...passed.map(within)))
}

/** Asks for more than is left, and then for what is left. */
export async function countsDenied(ask: Ask): Promise<string> {
  for (const cost of [7, 7]) await ask(cost)
  return yesNo(!(await ask(3)))
}

/** Asks two limits one after the other, as one does where each is a call, for two requests. */
export async function askInTurn(day: Ask, minute: Ask): Promise<void> {
  for (const _ of [1, 2]) if (await day()) await minute()
}

/** Uses up a limit late in a minute, waits as long as a denial says, and asks again. */
export async function isEnough(ask: Ask, waitMs: () => Promise<number>): Promise<string> {
  const late = MINUTE - 1_000
  at(late)
  while (await ask());
  at(late + Math.ceil(await waitMs()))
  return yesNo(await ask())
}

/** Says what becomes of requests with each setting. */
export async function outcomes(settings: readonly Ask[]): Promise<string> {
  const texts = await Promise.all(settings.map(outcome))
  return texts.join(', ').replace(/, ([^,]*)$/, ' or $1')
}

async function outcome(ask: Ask): Promise<string> {
  const passed: boolean[] = []
  try {
    for (let sent = 0; sent < 12; sent += 1) passed.push(await ask())
  } catch {
    return 'an error'
  }
  const count = passed.filter(Boolean).length
  if (count === 10) return 'counted here'
  return count === 12 ? 'allowed' : 'denied'
}

export async function kilobytes(modules: readonly string[]): Promise<string> {
  const code = modules.map((module) => `export ${module}`).join('\n')
  try {
    return `${Math.ceil((await bundle(code)).gzipped / 100) / 10} kB`
  } catch {
    return 'needs Node.js'
  }
}
