import type { DashboardRecord, SourceOptions } from './record.ts'
import { defineExtension, type Extension, type Problem, type WaitUntil } from '@sluice/core'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { splitBatch, type Batch } from './batches.ts'
import { listenersOf } from './watch.ts'

/** Options of `relay`. */
export interface RelayOptions extends SourceOptions {
  /**
   * Returns the address and key of the handler; `undefined` sends nothing. Called before each sending.
   * @default the variables `SLUICE_DASHBOARD_URL` and `SLUICE_DASHBOARD_KEY`, which `sluice dev` sets: nothing is sent
   * where one of them is missing
   */
  readonly target?: () => RelayTarget | undefined
  /**
   * Keeps a sending running after the response, where an event has no `waitUntil` of its own: that of
   * `@sluice/core/vercel` or `@sluice/cloudflare/wait-until`. @default that of the call
   */
  readonly waitUntil?: WaitUntil
}

/** The address of a `dashboardHandler`, and its `relayKey`. */
export interface RelayTarget {
  readonly url: string
  readonly key: string
}

const OPTIONS = ['name', 'by', 'retriesBy', 'estimate', 'target', 'waitUntil']

const GATHER_MS = 200
const TIMEOUT_MS = 5_000
/** The time after which a sending is taken for dead: its request was over before the platform ran it. */
const LATE_MS = 1_000
/** The most records that wait. The oldest are dropped, and a problem says so. */
const MAX_WAITING = 10_000

/**
 * Creates an extension that sends a limiter's events to the dashboard of another process, in batches: for
 * edge isolates, whose memory no page can read. Sending is background work of the requests (`waitUntil`); a
 * dashboard that does not answer delays none, and gets the events with later ones. Events go out after 200 ms; an
 * isolate that ends before loses them.
 *
 * @throws ConfigError When an option is unknown, or `target` is not a function.
 * @example
 * relay() // to the page of `sluice dev`; nowhere in production, where its variables are not set
 * relay({ name: 'ai', target: () => ({ url: env.DASHBOARD_URL, key: env.DASHBOARD_KEY }) })
 */
export function relay(options: RelayOptions = {}): Extension {
  assertKnownOptions('relay', options, OPTIONS)
  const { target = environmentTarget(), waitUntil, ...source } = options
  assertFunction('relay.target', target)
  if (waitUntil !== undefined) assertFunction('relay.waitUntil', waitUntil)
  return defineExtension({
    name: 'dashboard-relay',
    connect({ policies, problem }) {
      const send = createSender(target, problem)
      const take = (record: DashboardRecord, own = waitUntil): void => send(record, own)
      return { on: listenersOf(source, take, policies) }
    },
  })
}

declare const process: { readonly env?: Readonly<Record<string, string | undefined>> } | undefined

/** Returns a target that reads the variables at its first call, because a build does not have them. */
function environmentTarget(): () => RelayTarget | undefined {
  let isRead = false
  let target: RelayTarget | undefined
  return () => {
    if (isRead) return target
    isRead = true
    const env = typeof process === 'undefined' ? undefined : process.env
    const url = env?.['SLUICE_DASHBOARD_URL']
    const key = env?.['SLUICE_DASHBOARD_KEY']
    return (target = url && key ? { url, key } : undefined)
  }
}

function createSender(
  target: () => RelayTarget | undefined,
  problem: (problem: Problem) => void,
): (record: DashboardRecord, waitUntil?: WaitUntil) => void {
  let waiting: DashboardRecord[] = []
  /** The batches that the dashboard may not have. */
  let unsent: Batch[] = []
  /** The number of the first record in `waiting`. */
  let first = 0
  /** Made at the first use, because Workers have no randomness before a request. */
  let source: string | undefined
  let dueAt = -Infinity
  let isReporting = false

  function report(message: string, error?: unknown): void {
    isReporting = true
    problem({ code: 'extension_failed', message: `The dashboard ${message}`, error })
    isReporting = false
  }

  async function sendLater(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    dueAt = -Infinity
    const batches = takeBatches()
    try {
      await sendAll(batches, target())
    } catch (error) {
      // A batch that has arrived without an answer counts once.
      unsent.push(...batches)
      report('has not taken events: they are sent again with the next ones', error)
      limitUnsent()
    }
  }

  /** Returns all batches to send, and forgets them. */
  function takeBatches(): Batch[] {
    source ??= crypto.randomUUID()
    const batches = unsent
    unsent = []
    if (waiting.length === 0) return batches
    batches.push(...splitBatch({ source, first, records: waiting }))
    first += waiting.length
    waiting = []
    return batches
  }

  function limitUnsent(): void {
    let count = unsent.reduce((sum, { records }) => sum + records.length, 0)
    if (count <= MAX_WAITING) return
    for (; count > MAX_WAITING; unsent.shift()) count -= unsent[0]?.records.length ?? count
    report('has not taken events for too long: the oldest are missing there')
  }

  return (record, waitUntil) => {
    // A problem of the relay itself would go in a circle.
    if (isReporting || !target()) return
    waiting.push(record)
    if (waiting.length > MAX_WAITING) {
      first += waiting.splice(0, MAX_WAITING / 2).length
      report('gets more events than can be sent: some are missing there')
    }
    const now = Date.now()
    // After a clock that was set back, a sending may seem to be far ahead.
    if (Math.abs(dueAt - now) < GATHER_MS + LATE_MS) return
    dueAt = now + GATHER_MS
    const sending = sendLater()
    waitUntil?.(sending)
  }
}

/** Sends batches. Those that are not in the list afterwards have arrived. */
async function sendAll(batches: Batch[], target: RelayTarget | undefined): Promise<void> {
  if (!target) throw new Error('It has no address any more')
  const headers = { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' }
  for (; batches[0]; batches.shift()) {
    const body = JSON.stringify(batches[0])
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { ok, status } = await fetch(target.url, { method: 'POST', headers, body, signal })
    if (!ok) throw new Error(`It has answered ${status}`)
  }
}
