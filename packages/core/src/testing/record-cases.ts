import type { Store } from '../stores/store.ts'
import { systemClock } from '../clock.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { createLimiter } from '../limiter/limiter.ts'
import { createRecords, type RecordCondition, type Records } from '../limiter/records.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { randomId } from '../internal/random-id.ts'
import { pause } from '../internal/single-flight.ts'
import { freshSubject, probe, remainingUnits } from './probe.ts'
import { expectEqual, expectThat, type Cases } from './suite.ts'

const POLICIES = [
  fixedWindow({ name: 'tenants', limit: 2, window: '1h', per: ['tenant'] }),
  fixedWindow({ name: 'users', limit: 2, window: '1h', per: ['tenant', 'user'] }),
]

/** The records of a store, and a key that no other test uses. */
function openRecords(store: Store) {
  const records: Records = createRecords(
    { store, clockIsInjected: false },
    POLICIES.flatMap((policy) => policy()),
    systemClock,
  )
  const key = `conformance:${randomId()}`
  const read = async (...fields: string[]) => records.read(fields.map((field) => ({ key, field })))
  const write = async (set: Record<string, string>, condition?: Pick<RecordCondition, 'is'>) =>
    records.write([{ key, set }], condition && { key, field: 'x', ...condition })
  return { records, key, read, write }
}

/** The claims about records (small named values beside the counts) and about resets. */
export const recordCases: Cases<Store> = {
  async 'a field reads as it was written; one that was not, as undefined'(store) {
    const { read, write } = openRecords(store)
    expectEqual(await read('x', '__proto__'), [undefined, undefined], 'Before any write')
    const texts = [
      '',
      ' ',
      '0',
      '1e3',
      'null',
      '{"a":[1]}',
      'line\nline\u0000',
      'é 🙂',
      'x'.repeat(9_999),
    ]
    for (const text of texts) {
      expectEqual(await write({ x: text }), true, 'A write without a condition')
      expectEqual(await read('x', 'y'), [text, undefined], 'After a write')
    }
  },

  async 'a write leaves the other fields of a record'(store) {
    const { read, write } = openRecords(store)
    await write({ x: '1', y: '2' })
    await write({ y: '3', constructor: '4' })
    expectEqual(await read('x', 'y', 'constructor'), ['1', '3', '4'], 'The fields')
  },

  async 'a conditional write is made if, and only if, its condition holds'(store) {
    const { read, write } = openRecords(store)
    expectEqual(await write({ x: 'wrong' }, { is: '' }), false, 'A text where there is nothing')
    expectEqual(await write({ x: '1' }, { is: undefined }), true, 'Nothing where there is nothing')
    for (const is of [undefined, '', '01', '2']) {
      expectEqual(await write({ x: 'wrong', y: 'wrong' }, { is }), false, 'Another text')
    }
    expectEqual(await read('x', 'y'), ['1', undefined], 'After conditions that did not hold')
    expectEqual(await write({ x: '2' }, { is: '1' }), true, 'The text')
    expectEqual(await read('x'), ['2'], 'After a condition that held')
  },

  async 'of 16 that claim a field at once, one gets it'(store) {
    const { write } = openRecords(store)
    const claims = Array.from({ length: 16 }, (_, n) => write({ x: `${n}` }, { is: undefined }))
    expectEqual((await Promise.all(claims)).filter(Boolean).length, 1, 'Claims that succeed')
  },

  async 'several records are written together or not at all'(store) {
    const { records, key } = openRecords(store)
    const other = `${key}:other`
    const fields = [key, other].map((record) => ({ key: record, field: 'x' }))
    const write = (x: string, is: string | undefined) =>
      records.write(
        fields.map((field) => ({ key: field.key, set: { x } })),
        { key: other, field: 'x', is },
      )
    expectEqual(
      [await write('1', undefined), await write('2', undefined)],
      [true, false],
      'Written',
    )
    expectEqual(await records.read(fields), ['1', '1'], 'The records')
  },

  async 'a record is gone once its time is over, and one without a time stays'(store) {
    const { records, key, read } = openRecords(store)
    await records.write([
      { key, set: { x: '1' }, ttlMs: 50 },
      { key: `${key}:kept`, set: { x: '1' } },
    ])
    await pause(150)
    expectEqual(await read('x'), [undefined], 'After its time')
    expectEqual(await records.read([{ key: `${key}:kept`, field: 'x' }]), ['1'], 'Without a time')
  },

  async 'a removed record is gone'(store) {
    const { records, key, read, write } = openRecords(store)
    await write({ x: '1' })
    await records.remove([key])
    expectEqual(await read('x'), [undefined], 'After it was removed')
  },

  async 'records are read in the same step as a decision, allowed or denied'(store) {
    const { key, write } = openRecords(store)
    await write({ x: '1' })
    const observed: unknown[] = []
    const reader = defineExtension({
      name: 'reader',
      connect: () => ({
        before: () => ({
          reads: ['x', 'y'].map((field) => ({
            field: { key, field },
            update: (value) => observed.push(value) < 0,
          })),
        }),
      }),
    })
    const limiter = createLimiter({ store, policies: POLICIES, extensions: [reader] })
    const subject = { ...freshSubject(), user: 'ann' }
    for (let time = 0; time < 3; time += 1) await limiter.check(subject)
    expectEqual(observed, ['1', undefined, '1', undefined, '1', undefined], 'Read along')
  },

  async 'a reset forgets what a subject has used, and nothing of others'(store) {
    const { limiter, subject, spend, check, peek } = probe(store, POLICIES)
    const [ann, bob] = [
      { ...subject, user: 'ann' },
      { ...subject, user: 'bob' },
    ]
    const another = { tenant: `${subject['tenant']}:ann`, user: 'ann' }
    await spend(1, 1, ann)
    await spend(1, 1, bob)
    await spend(2, 1, another)
    await limiter.reset(ann, { policies: ['users'] })
    expectEqual(remainingUnits(await peek(1, ann)), { tenants: 0, users: 2 }, 'One policy reset')
    await limiter.reset(ann)
    expectEqual(remainingUnits(await peek(1, ann)), { tenants: 2, users: 2 }, 'All reset')
    expectEqual(remainingUnits(await peek(1, bob)), { tenants: 2, users: 1 }, 'Another user')
    expectThat(!(await check(1, another)).allowed, 'A reset must not touch another tenant')
  },
}
