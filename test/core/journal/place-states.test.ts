import { creditAlgorithm } from '@sluice/core/credits'
import { createLimiter, fixedWindow, type StoreReply, type StoreRequest } from '@sluice/core'
import {
  checkMessage,
  kindsOf,
  parseMessage,
  PlaceStates,
  resetMessage,
  UnknownKind,
  type ChangeJournal,
} from '@sluice/core/internal/journal'
import { memory } from '@sluice/core/memory'
import { expect, it } from 'vitest'
import { KIND_NAMES, KINDS, type Kind } from '../../support/kinds.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const kinds = kindsOf({ algorithms: [creditAlgorithm] })

/** The kinds whose algorithms no place knows by name. */
const UNKNOWN = new Set<Kind>([
  'calendar day',
  'billing month',
  'calendar week of a zone by tenant',
  'fair shares',
  'waiting line',
])

/** A journal in memory, which takes a snapshot of every third change. */
class Pages implements ChangeJournal {
  snapshot = '[]'
  readonly changes: string[] = []
  get snapshotLength(): number {
    return this.snapshot.length
  }
  get isLong(): boolean {
    return this.changes.length >= 3
  }
  load() {
    return { snapshot: this.snapshot, changes: this.changes }
  }
  append(change: string): void {
    this.changes.push(change)
  }
  replace(snapshot: string): void {
    this.snapshot = snapshot
    this.changes.length = 0
  }
}

const call = (states: PlaceStates, text: string) =>
  states.call(parseMessage(text, kinds), () => text)

it.each(KIND_NAMES.filter((kind) => !UNKNOWN.has(kind)))(
  '%s: states that are loaded anew for each decision decide as those in memory',
  async (kind) => {
    const pages = new Pages()
    let now = NOON
    const clock = () => now
    const kept = new PlaceStates(pages, kinds, clock)
    const check = async (request: StoreRequest): Promise<StoreReply> => {
      const text = checkMessage(request)
      const content = { snapshot: pages.snapshot, changes: [...pages.changes] }
      const copy = {
        snapshotLength: 0,
        isLong: false,
        load: () => content,
        append() {},
        replace() {},
      }
      const loaded = call(new PlaceStates(copy, kinds, clock), text)
      const answer = call(kept, text)
      expect(loaded).toEqual(answer)
      return (answer as { reply: StoreReply }).reply
    }
    const store = { ...memory(), check }
    const limiter = createLimiter({ store, policies: [KINDS[kind]('counted', 3)], clock })
    const allowed = []
    for (let at = 0; at < 20; at += 1) {
      now += (at * 7_919) % 3_000
      const { degraded, ...decision } = await limiter.check({ tenant: 'acme' })
      expect(degraded).toBeUndefined()
      allowed.push(decision.allowed)
    }
    expect(new Set(allowed)).toEqual(new Set([true, false]))
    expect(pages.snapshot).not.toBe('[]')
  },
)

it.each([...UNKNOWN])('%s: refused by the id of the algorithm', (kind) => {
  const rules = rulesOf(KINDS[kind]('counted', 3))
  const text = checkMessage(storeRequest(rules, entriesOf(rules)))
  const id = rules.at(-1)?.algorithm.id
  expect(() => parseMessage(text, kinds)).toThrow(new UnknownKind(`algorithm "${id}"`))
})

it('a denial and a reset of nothing write no line', () => {
  const rules = rulesOf(fixedWindow({ name: 'w', limit: 1, window: '1m', per: ['tenant'] }))
  const pages = new Pages()
  const states = new PlaceStates(pages, kinds, () => NOON)
  const check = () =>
    call(states, checkMessage(storeRequest(rules, entriesOf(rules, { limit: 1 }))))
  check()
  expect(pages.changes).toHaveLength(1)
  check()
  call(states, resetMessage(['another']))
  expect(pages.changes).toHaveLength(1)
  call(states, resetMessage(['w']))
  expect(pages.changes).toHaveLength(2)
})

it('the place of an entry is known to its caller, and does not travel', () => {
  const rules = rulesOf(fixedWindow({ name: 'w', limit: 1, window: '1m', per: ['tenant'] }))
  const text = checkMessage(storeRequest(rules, entriesOf(rules, { place: 'tenant=acme' })))
  expect(text).toContain('"rule"')
  expect(text).not.toContain('acme')
})
