/* An isolate: the shipped code with a clock, timers, random numbers and a network of its own. */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type * as Product from './product.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** The exports of a bundle of `product.ts`. */
export type Exports = typeof Product

/** The part of `fetch` that isolates use. */
export type WorldFetch = (url: string, init: RequestInit) => Promise<Response>

/** The surroundings of an isolate. */
export interface Surroundings {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly fetch: WorldFetch
  /** Receives what the isolate logs. */
  readonly log: (line: string) => void
  /** Called when a map has more entries than any had before. */
  readonly onGrowth: (entries: number) => void
  /** True for a process of a server, where requests may wait for each other's promises. */
  readonly isServer: boolean
}

export interface Isolate {
  readonly product: Exports
  /** The difference of its wall clock from the world's time, in milliseconds. It may be set at any time. */
  skewMs: number
  /** Ends it: no timer fires, and no answer arrives any more. */
  kill(): void
  readonly isDead: boolean
}

/** The names that the bundle finds instead of the real ones. */
const SHADOWED = [
  'Date',
  'performance',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'crypto',
  'fetch',
  'Math',
  'console',
  'process',
  'globalThis',
  'Map',
] as const

type Globals = Record<(typeof SHADOWED)[number], unknown>
type Factory = (...globals: unknown[]) => Exports

let bundled: Promise<string> | undefined

/** Bundles the built packages, once a process. */
const bundle = (): Promise<string> => (bundled ??= createBundle())

/** Loads the bundle. With `mutate`, a changed one: judges must notice what is wrong with it. */
export async function loadFactory(mutate: (text: string) => string = same): Promise<Factory> {
  const text = mutate(await bundle())
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- Parameters shadow globals at a tenth of a context's cost.
  return new Function(...SHADOWED, `${text}\nreturn product`) as Factory
}

const same = (text: string): string => text

async function createBundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('product.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'product',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}

export function createIsolate(create: Factory, surroundings: Surroundings): Isolate {
  const { scheduler, random, log, onGrowth, isServer } = surroundings
  const startedAt = scheduler.now
  let isDead = false
  let largestMap = 0
  const isolate: Omit<Isolate, 'product'> = {
    skewMs: 0,
    kill: () => void (isDead = true),
    get isDead() {
      return isDead
    },
  }
  const now = (): number => scheduler.now + isolate.skewMs
  const alive =
    (run: () => void): (() => void) =>
    () => {
      if (!isDead) run()
    }
  const globals: Globals = {
    Date: dateOf(now),
    performance: { now: () => scheduler.now - startedAt },
    setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      scheduler.after(
        ms,
        alive(() => run(...args)),
      ),
    clearTimeout: (timer: number | undefined) => void (timer && scheduler.cancel(timer)),
    setInterval: notThere('setInterval'),
    clearInterval: notThere('clearInterval'),
    crypto: cryptoOf(random),
    fetch: surroundings.fetch,
    Math: Object.assign(Object.create(Math) as typeof Math, { random: () => random.next() }),
    console: { error: log, warn: log, log, info: log },
    process: isServer ? { versions: { node: '24.0.0' }, env: {} } : undefined,
    globalThis: isServer ? {} : { WebSocketPair: true },
    Map: class<Key, Value> extends Map<Key, Value> {
      override set(key: Key, value: Value): this {
        super.set(key, value)
        if (this.size > largestMap) onGrowth((largestMap = this.size))
        return this
      }
    },
  }
  const product = create(...SHADOWED.map((name) => globals[name]))
  return Object.assign(isolate, { product })
}

const notThere = (name: string) => (): never => {
  throw new Error(`The world has no ${name}`)
}

function dateOf(now: () => number): unknown {
  return class extends Date {
    constructor(...args: []) {
      if (args.length === 0) super(now())
      else super(...args)
    }

    static override now(): number {
      return now()
    }
  }
}

/** The part of Web Crypto that the packages use. It finishes at once, where the real one uses other threads. */
function cryptoOf(random: Random): unknown {
  const fill = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = random.whole(0, 255)
  }
  return {
    getRandomValues<T extends ArrayBufferView>(array: T): T {
      fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
      return array
    },
    randomUUID: () =>
      [8, 4, 4, 4, 12]
        .map((length) => Array.from({ length }, () => random.whole(0, 15).toString(16)).join(''))
        .join('-'),
    subtle: {
      digest: async (name: string, bytes: Uint8Array) => {
        const hash = createHash(name.replace('-', '').toLowerCase()).update(bytes).digest()
        return hash.buffer.slice(hash.byteOffset, hash.byteOffset + hash.byteLength)
      },
    },
  }
}
