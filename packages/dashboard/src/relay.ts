import type { Extension, Problem, WaitUntil } from '@sluice/core'
import type { DashboardRecord, SourceOptions } from './record.ts'
import { defineExtension } from '@sluice/core'
import { assertFunction, assertKnownOptions } from '@sluice/core/validation'
import { batchesOf } from './batches.ts'
import { listenersOf } from './watch.ts'

/** Options of `relay`. */
export interface RelayOptions extends SourceOptions {
  /** Returns the address and key of the handler; `undefined` sends nothing. Called before each sending. */
  readonly target: () => RelayTarget | undefined
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
/** The most records that wait. More are dropped, and a problem says so. */
const MAX_WAITING = 2_000

/**
 * Creates an extension that sends a limiter's events to the dashboard of another process, in batches: for
 * edge isolates, whose memory no page can read. Sending is background work of the requests (`waitUntil`); a
 * dashboard that does not answer delays none. Events go out after 200 ms; an isolate that ends before loses them.
 *
 * @throws ConfigError When an option is unknown, or `target` is not a function.
 * @example
 * relay({ name: 'ai', target: () => ({ url: env.DASHBOARD_URL, key: env.DASHBOARD_KEY }) })
 */
export function relay(options: RelayOptions): Extension {
  assertKnownOptions('relay', options, OPTIONS)
  const { target, waitUntil, ...source } = options
  assertFunction('relay.target', target)
  if (waitUntil !== undefined) assertFunction('relay.waitUntil', waitUntil)
  return defineExtension({
    name: 'dashboard-relay',
    connect({ problem }) {
      const send = createSender(target, problem)
      return { on: listenersOf(source, (record, own = waitUntil) => send(record, own)) }
    },
  })
}

/** Returns a function that sends records in batches. */
function createSender(
  target: RelayOptions['target'],
  problem: (problem: Problem) => void,
): (record: DashboardRecord, waitUntil?: WaitUntil) => void {
  let waiting: DashboardRecord[] = []
  let dueAt = -Infinity
  let isReporting = false

  function report(message: string, error?: unknown): void {
    isReporting = true
    problem({ code: 'extension_failed', message: `The dashboard ${message}`, error })
    isReporting = false
  }

  async function sendLater(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    const records = waiting
    waiting = []
    dueAt = -Infinity
    try {
      const found = target()
      if (!found) return
      for (const batch of batchesOf(records)) {
        const { ok, status } = await post(found, batch)
        if (!ok) report(`has answered ${status}: the events of a moment are missing there`)
      }
    } catch (error) {
      report('does not answer: the events of a moment are missing there', error)
    }
  }

  return (record, waitUntil) => {
    // A problem of the relay itself would go in a circle.
    if (isReporting || !target()) return
    if (waiting.length < MAX_WAITING) waiting.push(record)
    else report('gets more events than can be sent')
    const now = Date.now()
    // After a clock that was set back, a sending may seem to be far ahead.
    if (Math.abs(dueAt - now) < GATHER_MS + LATE_MS) return
    dueAt = now + GATHER_MS
    const sending = sendLater()
    waitUntil?.(sending)
  }
}

const post = ({ url, key }: RelayTarget, body: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
