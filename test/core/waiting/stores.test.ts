import { slidingWindow, type Policy, type Store } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { waitingLine } from '@sluice/core/waiting'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { Random } from '../../world/random.ts'
import { lineOver } from './line.ts'

/** A line in which the users of a tenant take turns. */
const lined = (): Policy =>
  waitingLine(slidingWindow({ name: 'p', limit: 6, window: '1m', per: ['tenant'] }), {
    between: ['user'],
    maxWaiting: 4,
  })

const random = new Random('lines')
const STEPS = Array.from({ length: 120 }, () => ({
  ms: random.pick([0, 50, 700, 6_000, 20_000]),
  act: random.pick(['check', 'look', 'stand', 'stand', 'leave'] as const),
  who: random.whole(0, 11),
}))

async function answersOf(store: Store): Promise<unknown[]> {
  const line = lineOver(store, lined())
  const answers: unknown[] = []
  for (const { ms, act, who } of STEPS) {
    line.clock.advance(ms)
    const asker = { user: `u${who % 4}`, cost: 1 + (who % 3), ticket: who + 1 }
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (act === 'check') answers.push(await line.check({ ...asker, ticket: 0 }))
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (act === 'look') answers.push(await line.check(asker))
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (act === 'stand') answers.push(await line.stand(asker))
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (act === 'leave') await line.leave(asker)
  }
  return answers
}

/** Stores around a store, which do not change what it decides. */
const WRAPPERS: Record<string, (store: Store) => Store> = {
  'as it is': (store) => store,
  'with a breaker': (store) => breaker(store),
  'which keeps denials': (store) => cacheDenials(store),
}

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it.each(Object.entries(WRAPPERS))('keeps a line as memory does, %s', async (_, wrap) => {
    const expected = await answersOf(memory())
    expect(JSON.stringify(expected)).toContain('"waiting"')
    expect(JSON.stringify(expected)).toContain('"full"')
    expect(await answersOf(wrap(make()))).toEqual(expected)
  })
})
