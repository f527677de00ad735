import {
  createLimiter,
  defineExtension,
  fixedWindow,
  type PolicyRule,
  type RecordCondition,
  type Records,
  type RecordWrite,
  type Store,
  type StoreRequest,
} from '@sluice/core'
import { expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'

const policies = fixedWindow({ name: 'p', limit: 1, window: '1h', per: ['tenant'] })()
const [policy] = policies as [PolicyRule]

const request = (reads: StoreRequest['reads'], count = 0): StoreRequest => ({
  id: 'one',
  policies,
  entries: Array.from({ length: count }, () => ({
    policy,
    index: 0,
    key: 'p:counts',
    limit: 1,
    burst: 1,
    cost: 1,
    enforced: true,
    params: policy.params,
  })),
  apply: true,
  now: NOON,
  clockIsInjected: true,
  startedAt: Date.now(),
  reads,
})

/** Writes records, as an extension does. */
function write(
  store: Store,
  writes: readonly RecordWrite[],
  condition?: RecordCondition,
): Promise<boolean> {
  let made: Records | undefined
  const extension = defineExtension({
    name: 'writer',
    connect: ({ records: own }) => {
      made = own
      return {}
    },
  })
  createLimiter({ store, policies: [() => policies], extensions: [extension] })
  if (made === undefined) throw new Error('The extension was not connected')
  return made.write(writes, condition)
}

/** The values of these fields of a record. */
async function fields(store: Store, key: string, names: readonly string[]): Promise<unknown> {
  const reads = names.map((field) => ({ key, field }))
  return (await store.check({ ...request(reads), now: Date.now() })).values
}

const VALUES = [
  '',
  ' ',
  '0',
  '7',
  '1e3',
  '0x10',
  'nan',
  'null',
  'false',
  '"quoted"',
  '{"a":[1,null]}',
  'line\nline\r\n\t\u0000end',
  'é 🙂 e\u0301 \u2028',
  'x'.repeat(100_000),
]

/** One field in each of three records, and two in one. */
const writes = (value: string) => [
  { key: 'a', set: { x: value } },
  { key: 'b', set: { x: value, y: value }, ttlMs: 60_000 },
  { key: 'c', set: { x: value } },
]

export function records(make: () => Store): void {
  it('a field that was never written reads as undefined, not as empty text', async () => {
    const store = make()
    expect(await fields(store, 'r', ['a', 'constructor', '__proto__'])).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    await write(store, [{ key: 'r', set: { a: '' } }])
    expect(await fields(store, 'r', ['a', 'b'])).toEqual(['', undefined])
  })
  it('text is read back as it was written, character for character', async () => {
    const store = make()
    for (const value of VALUES) {
      expect(await write(store, [{ key: 'r', set: { field: value } }])).toBe(true)
      expect(await fields(store, 'r', ['field'])).toEqual([value])
    }
    const strange = 'a:b {c} *%\n"'
    await write(store, [{ key: strange, set: { [strange]: strange } }])
    expect(await fields(store, strange, [strange])).toEqual([strange])
  })
  it('a write sets its fields and leaves the others of the record', async () => {
    const store = make()
    await write(store, [{ key: 'r', set: { a: '1', b: '2' } }])
    await write(store, [{ key: 'r', set: { b: '3', constructor: '4' } }])
    expect(await fields(store, 'r', ['a', 'b', 'constructor', 'b'])).toEqual(['1', '3', '4', '3'])
  })
  it('fields are read along with a decision, whether it allows or denies, and cost it nothing', async () => {
    const store = make()
    await write(store, [{ key: 'r', set: { plan: 'growth' } }])
    const reads = [
      { key: 'r', field: 'plan' },
      { key: 'none', field: 'plan' },
    ]
    for (const fits of [true, false]) {
      const reply = await store.check(request(reads, 1))
      expect(reply.verdicts).toMatchObject([{ fits }])
      expect(reply.values).toEqual(['growth', undefined])
    }
    expect((await store.check(request([], 1))).values).toEqual([])
  })
  it('counts and records of one name are read separately', async () => {
    const store = make()
    await store.check(request([], 1))
    const reply = await store.check(request([{ key: 'p:counts', field: 'plan' }], 1))
    expect(reply).toMatchObject({ verdicts: [{ fits: false }], values: [undefined] })
  })
  it('a condition matches exactly its text, or an absent field', async () => {
    const store = make()
    const claim = (is: string | undefined, value: string): Promise<boolean> =>
      write(store, [{ key: 'r', set: { claim: value } }], { key: 'r', field: 'claim', is })
    expect(await claim('', 'wrong')).toBe(false)
    expect(await claim('undefined', 'wrong')).toBe(false)
    expect(await claim(undefined, '1')).toBe(true)
    for (const other of [undefined, '', '01', '1.0', '1 ', 'one']) {
      expect(await claim(other, 'wrong')).toBe(false)
    }
    expect(await claim('1', '')).toBe(true)
    expect(await claim(undefined, 'wrong')).toBe(false)
    expect(await claim('', '2')).toBe(true)
    expect(await fields(store, 'r', ['claim'])).toEqual(['2'])
  })
  it('a condition may be on another record than the one written, and on an absent one', async () => {
    const store = make()
    const writeIf = (is: string | undefined) =>
      write(store, [{ key: 'a', set: { x: String(is) } }], { key: 'b', field: 'x', is })
    expect(await writeIf('1')).toBe(false)
    expect(await fields(store, 'a', ['x'])).toEqual([undefined])
    expect(await writeIf(undefined)).toBe(true)
    await write(store, [{ key: 'b', set: { x: '1' } }])
    expect(await writeIf(undefined)).toBe(false)
    expect(await writeIf('1')).toBe(true)
    expect(await fields(store, 'a', ['x'])).toEqual(['1'])
  })
  it('several records are written together, or none of them', async () => {
    const store = make()
    const all = async () => [
      ...((await fields(store, 'a', ['x'])) as unknown[]),
      ...((await fields(store, 'b', ['x', 'y'])) as unknown[]),
      ...((await fields(store, 'c', ['x'])) as unknown[]),
    ]
    expect(await write(store, writes('1'))).toBe(true)
    expect(await all()).toEqual(['1', '1', '1', '1'])
    expect(await write(store, writes('2'), { key: 'c', field: 'x', is: '2' })).toBe(false)
    expect(await all()).toEqual(['1', '1', '1', '1'])
  })
  it('of 64 writers that claim one field at once, exactly one succeeds', async () => {
    const store = make()
    const claims = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        write(store, [{ key: 'r', set: { claim: String(index) }, ttlMs: 60_000 }], {
          key: 'r',
          field: 'claim',
          is: undefined,
        }),
      ),
    )
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await fields(store, 'r', ['claim'])).toEqual([String(claims.indexOf(true))])
  })
  it('of 64 writers that compare and set one field, none overwrites another', async () => {
    const store = make()
    await write(store, [{ key: 'r', set: { n: '0' } }])
    const increment = async (): Promise<void> => {
      for (;;) {
        const [n] = (await fields(store, 'r', ['n'])) as [string]
        const set = { n: String(Number(n) + 1) }
        if (await write(store, [{ key: 'r', set }], { key: 'r', field: 'n', is: n })) return
      }
    }
    await Promise.all(Array.from({ length: 16 }, increment))
    expect(await fields(store, 'r', ['n'])).toEqual(['16'])
  })
  it('a record expires after its time to live, and stays if it is written again without one', async () => {
    const store = make()
    const gone = () => fields(store, 'short', ['x'])
    // On a busy machine it may expire before it is written again: then it gets longer.
    for (let ttlMs = 40, isLate = true; isLate && ttlMs < 10_000; ttlMs *= 2) {
      const startedAt = performance.now()
      await write(store, [
        { key: 'short', set: { x: '1' }, ttlMs },
        { key: 'long', set: { x: '1' }, ttlMs: 60_000 },
        { key: 'kept', set: { x: '1' }, ttlMs },
      ])
      await write(store, [{ key: 'kept', set: { y: '1' } }])
      isLate = performance.now() - startedAt >= ttlMs
    }
    await expect.poll(gone, { timeout: 30_000 }).toEqual([undefined])
    expect(await fields(store, 'long', ['x'])).toEqual(['1'])
    expect(await fields(store, 'kept', ['x', 'y'])).toEqual(['1', '1'])
    // As is what it held: nothing of it comes back with the next write.
    await write(store, [{ key: 'short', set: { y: '2' } }])
    expect(await fields(store, 'short', ['x', 'y'])).toEqual([undefined, '2'])
  })
  it('a reset forgets a record as a whole, and no other', async () => {
    const store = make()
    for (const key of ['r', 'r:x', 'r*', '*'])
      await write(store, [{ key, set: { a: '1', b: '2' } }])
    await write(store, [{ key: 'r', set: { c: '3' }, ttlMs: 60_000 }])
    await store.reset(['r', 'never there'])
    expect(await fields(store, 'r', ['a', 'b', 'c'])).toEqual([undefined, undefined, undefined])
    for (const key of ['r:x', 'r*', '*']) expect(await fields(store, key, ['a'])).toEqual(['1'])
    await store.reset(['*'])
    expect(await fields(store, 'r:x', ['a'])).toEqual(['1'])
  })
}
