import { AsyncLocalStorage } from 'node:async_hooks'
import type { Store } from '@sluice/core'
import type { Fetch } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { commandsOf, everyResult, heldBack, storeBy } from './support.ts'

/** The end of this turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const quick: Fetch = async (_, { body }) => everyResult(body)

/** A store, and the number of commands in each of its requests; a request to hold back is answered when it is let go. */
function recordingStore() {
  const sent: number[] = []
  let answer = quick
  const store = storeBy((url, init) => {
    sent.push(commandsOf(init.body).length)
    return answer(url, init)
  })
  return {
    store,
    sent,
    /** Sends a call that is not answered before it is let go. */
    begin: async () => {
      const { held, letGo } = heldBack()
      answer = (url, init) => held.then(() => quick(url, init))
      const call = store.reset(['under way'])
      await nextTurn()
      answer = quick
      sent.length = 0
      return async () => {
        letGo()
        await call
      }
    },
  }
}

describe('a call that comes alone', () => {
  it('is sent before any timer, and before the end of the turn', async () => {
    const { store, sent } = recordingStore()
    const later: number[] = []
    setImmediate(() => later.push(sent.length))
    process.nextTick(() => process.nextTick(() => later.push(sent.length)))
    await store.reset(['a'])
    await nextTurn()
    expect(later).toEqual([1, 1])
  })

  it('does not wait for one that has given up', async () => {
    const { store, sent } = recordingStore()
    const lost = storeBy(() => new Promise(() => {}), { timeoutMs: 1 })
    await expect(lost.reset(['a'])).rejects.toMatchObject({ code: 'store_timeout' })
    const later = new Promise((resolve) => setImmediate(() => resolve(sent.length)))
    await store.reset(['b'])
    expect(await later).toBe(1)
  })

  it('goes alone again after others have shared a request', async () => {
    const { store, sent } = recordingStore()
    await Promise.all([store.reset(['a']), store.reset(['b'])])
    await store.reset(['c'])
    await store.reset(['d'])
    expect(sent).toEqual([2, 1, 1])
  })
})

/** Makes calls in one turn of the event loop, each in an event of its own, as requests of several sockets do. */
const inEventsOf = (store: Store, count: number): Promise<void>[] =>
  Array.from(
    { length: count },
    (_, index) =>
      new Promise<void>((resolve, reject) => {
        setImmediate(() => void store.reset([`${index}`]).then(resolve, reject))
      }),
  )

describe('while a call is under way', () => {
  it('calls of several events of a turn share a request', async () => {
    const { store, sent, begin } = recordingStore()
    const end = await begin()
    await Promise.all(inEventsOf(store, 8))
    expect(sent).toEqual([8])
    await end()
  })

  it('a call is sent at the end of its turn, whatever becomes of the other', async () => {
    const { store, sent, begin } = recordingStore()
    const end = await begin()
    const call = store.reset(['a'])
    await nextTurn()
    await nextTurn()
    expect(sent).toEqual([1])
    await call
    await end()
  })

  it('no call shares a request with one of a later turn', async () => {
    const { store, sent, begin } = recordingStore()
    const end = await begin()
    const first = store.reset(['a'])
    await nextTurn()
    await nextTurn()
    await Promise.all([first, store.reset(['b'])])
    expect(sent).toEqual([1, 1])
    await end()
  })
})

it('each call goes on in its own context; the request they share is sent in that of the first', async () => {
  const context = new AsyncLocalStorage<string>()
  const senders: (string | undefined)[] = []
  const store = storeBy(async (_, { body }) => {
    senders.push(context.getStore())
    return everyResult(body)
  })
  const found = ['first', 'second', 'third'].map((name) =>
    context.run(name, async () => {
      await store.reset([name])
      return context.getStore()
    }),
  )
  expect(await Promise.all(found)).toEqual(['first', 'second', 'third'])
  expect(senders).toEqual(['first'])
})
