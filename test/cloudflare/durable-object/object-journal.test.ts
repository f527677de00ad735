import { createLimiter, fixedWindow, slidingWindow } from '@sluice/core'
import { kindsOf, PlaceStates, parseMessage, runMessage } from '@sluice/core/internal/journal'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import {
  ObjectJournal,
  MAX_CHARACTERS,
} from '../../../packages/cloudflare/dist/durable-object/object-journal.js'
import { objectsInProcess, sqliteRows } from '../../support/objects.ts'
import { NOON } from '../../support/times.ts'

const CHANGES = 1_000

it('what was stored is loaded again, in its order, whenever the journal is opened', () => {
  const rows = sqliteRows()
  let journal = new ObjectJournal(rows)
  expect(journal.load()).toEqual({ snapshot: undefined, changes: [] })
  let expected: { snapshot: string | undefined; changes: string[] } = {
    snapshot: undefined,
    changes: [],
  }
  let snapshots = 0
  for (let change = 0; change < CHANGES; change += 1) {
    journal.append(`change ${change}`)
    expected.changes.push(`change ${change}`)
    if (journal.isLong) {
      snapshots += 1
      // Once longer than a row may be, then short again: the rows of the long one are void.
      const length = snapshots === 1 ? 3 * MAX_CHARACTERS : 10
      expected = { snapshot: `${snapshots}`.padEnd(length, 'x'), changes: [] }
      journal.replace(expected.snapshot ?? '')
    }
    const opened = new ObjectJournal(rows)
    expect(opened.load()).toEqual(expected)
    if (change % 7 === 0) journal = opened
  }
  // The second comes when the journal is as long as the first snapshot.
  expect(snapshots).toBe(1)
  journal.replace('short')
  expect(new ObjectJournal(rows).load()).toEqual({ snapshot: 'short', changes: [] })
})

it('no character is cut in two by the end of a row', () => {
  const rows = sqliteRows()
  const journal = new ObjectJournal(rows)
  const snapshot = `a${'😀'.repeat(MAX_CHARACTERS)}`
  journal.replace(snapshot)
  expect(new ObjectJournal(rows).load().snapshot).toBe(snapshot)
})

it('an object that dies after any call decides on as if it had not', async () => {
  const [steady, dying] = [objectsInProcess(), objectsInProcess()]
  const policies = [
    slidingWindow({ name: 'minute', limit: 40, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'hour', limit: 900, window: '1h', per: ['tenant', 'user'] }),
    fixedWindow({ name: 'tokens', limit: 50_000, window: '1h', unit: 'token', per: ['tenant'] }),
  ]
  let now = Date.UTC(2026, 0, 16, 12)
  const limiters = [steady, dying].map((objects) =>
    createLimiter({ store: objects.store(), policies, clock: () => now }),
  )
  for (let call = 0; call < CHANGES; call += 1) {
    now += (call * 7_919) % 3_000
    const subject = { tenant: `t${call % 3}`, user: `u${call % 5}` }
    const answers = limiters.map(async (limiter) => {
      const made = await reserve(limiter, subject, { cost: { token: 100 } })
      if (made.allowed && call % 2 === 0) await made.settle({ token: (call * 31) % 150 })
      const { policies: states, allowed } = made
      return { allowed, states }
    })
    const [expected, answer] = await Promise.all(answers)
    expect(answer).toEqual(expected)
    dying.restart()
  }
})

it('a full object refuses another key, goes on with those that it has, and drops none before it expires', async () => {
  let now = Date.UTC(2026, 0, 16, 12)
  const objects = objectsInProcess()
  const limiter = createLimiter({
    store: objects.store({ timeoutMs: 30_000 }),
    policies: [fixedWindow({ name: 'user', limit: 2, window: '1h', per: ['tenant', 'user'] })],
    onStoreError: 'deny',
    clock: () => now,
  })
  const cap = createLimiter({
    store: objects.store({ timeoutMs: 30_000 }),
    policies: [fixedWindow({ name: 'cap', limit: 2, window: '1h', per: ['tenant'] })],
    onStoreError: 'deny',
    clock: () => now,
  })
  const check = (user: number) => limiter.check({ tenant: 't', user: `u${user}` })
  for (let user = 0; user < 49_000; user += 1) await check(user)
  // Users leave room for the tenant itself.
  expect(await cap.check({ tenant: 't' })).toMatchObject({ allowed: true, degraded: undefined })
  expect(await check(50_000)).toMatchObject({ degraded: { cause: 'store_refused' } })
  expect(await check(0)).toMatchObject({ allowed: true, degraded: undefined })
  expect(await check(0)).toMatchObject({ allowed: false, degraded: undefined })
  objects.restart()
  expect(await check(0)).toMatchObject({ allowed: false, degraded: undefined })
  now += 3_600_000
  expect(await check(50_000)).toMatchObject({ allowed: true, degraded: undefined })
})

it('an object that has deleted itself begins anew, also for a decision that was under way', () => {
  let rows = sqliteRows()
  const storage = {
    exec: (query: string, ...given: (string | number)[]) => rows.exec(query, ...given),
  }
  let now = NOON
  const kinds = kindsOf()
  const journal = new ObjectJournal(storage)
  const states = new PlaceStates(journal, kinds, () => now)
  const write = (key: string) => {
    const data = { writes: [{ key, set: { a: '1' }, ttlMs: 1_000 }], clockIsInjected: false }
    const text = runMessage({ kind: kinds.operation('write'), keys: [key], data, startedAt: now })
    return states.call(parseMessage(text, kinds), () => text)
  }
  write('before')
  now += 2_000
  expect(states.sweep()).toBeUndefined()
  rows = sqliteRows()
  journal.forget()
  expect(write('after')).toEqual({ result: true })
  expect(write('last')).toEqual({ result: true })
  const loaded = new ObjectJournal(rows).load()
  expect(loaded.changes.map((change) => /"key":"(\w+)"/.exec(change)?.[1])).toEqual([
    'after',
    'last',
  ])
})
