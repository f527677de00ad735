/* The class of the gateway's Durable Objects, over a storage in this process. */
import { beforeEach, describe, expect, it, vi } from 'vitest'

/** A storage, as far as the class uses it itself. */
class Storage {
  readonly fields = new Map<string, unknown>()
  readonly writes: string[] = []
  alarmAt: number | null = null

  readonly kv = {
    get: (name: string): unknown => this.fields.get(name),
    put: (name: string, value: unknown): void => {
      this.writes.push(name)
      this.fields.set(name, value)
    },
  }

  getAlarm = async (): Promise<number | null> => this.alarmAt
}

/** The class that it extends: an object deletes itself when nothing is left. */
class LimitsObject {
  readonly ctx: { readonly storage: Storage }

  constructor(ctx: { readonly storage: Storage }) {
    this.ctx = ctx
  }

  async alarm(): Promise<void> {
    const { storage } = this.ctx
    if (storage.fields.get('isKept') === true) return
    storage.fields.clear()
    storage.alarmAt = null
  }
}

interface Home {
  countedIn(store: string, change: 'never' | 'first' | 'always'): Promise<string | undefined>
  alarm(): Promise<void>
}

// It is of workerd, and so are its types.
vi.mock('@sluice/cloudflare/durable-object', () => ({ LimitsObject, objectChoices: {} }))
const CLASS = new URL('../../apps/worker/src/objects.ts', import.meta.url).href
const { Limits } = (await import(CLASS)) as {
  Limits: new (ctx: { readonly storage: Storage }) => Home
}

let storage: Storage
let home: Home
beforeEach(() => {
  storage = new Storage()
  home = new Limits({ storage })
})

describe('the object home', () => {
  it('knows no store before a call with a key, and tells so without a write', async () => {
    expect(await home.countedIn('objects', 'never')).toBeUndefined()
    expect(storage.writes).toEqual([])
  })

  it('remembers the first store, with one write', async () => {
    expect(await home.countedIn('a.example', 'first')).toBe('a.example')
    for (const store of ['a.example', 'b.example', 'objects']) {
      expect(await home.countedIn(store, 'first')).toBe('a.example')
    }
    expect(storage.writes).toEqual(['store'])
  })

  it('remembers the store that a setting names, in place of another', async () => {
    await home.countedIn('objects', 'first')
    for (let time = 0; time < 3; time += 1) {
      expect(await home.countedIn('a.example', 'always')).toBe('a.example')
    }
    expect(await home.countedIn('objects', 'never')).toBe('a.example')
    expect(storage.writes).toEqual(['store', 'store'])
  })

  it('knows that it has counted as soon as it holds a key', async () => {
    storage.alarmAt = 1
    expect(await home.countedIn('a.example', 'never')).toBe('objects')
    expect(await home.countedIn('a.example', 'first')).toBe('objects')
  })

  it('remembers the store when it has deleted everything else', async () => {
    await home.countedIn('objects', 'first')
    storage.alarmAt = 1
    await home.alarm()
    expect(storage.alarmAt).toBeNull()
    expect(await home.countedIn('a.example', 'first')).toBe('objects')
  })

  it('writes nothing for an alarm that deletes nothing', async () => {
    storage.fields.set('isKept', true)
    await home.countedIn('objects', 'first')
    await home.alarm()
    expect(storage.writes).toEqual(['store'])
  })
})

it('the object of a tenant remembers no store', async () => {
  await home.alarm()
  expect(storage.writes).toEqual([])
})
