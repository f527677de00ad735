import {
  durationMs,
  type Duration,
  type ExtensionContext,
  type Listeners,
  type WaitUntil,
} from '@sluice/core'
import { assertFunction } from '@sluice/core/internal'

/** Options of sending what has been collected, for platforms that stop between requests. */
export interface FlushOptions {
  /**
   * Sends what has been collected, such as `() => provider.forceFlush()`. Called after a decision, in its
   * `waitUntil`. @default your SDK sends by its own timers
   */
  readonly flush?: () => Promise<unknown>
  /** The shortest time between two calls of `flush`. @default '5s' */
  readonly flushEvery?: Duration
}

export const FLUSH_OPTIONS: readonly string[] = ['flush', 'flushEvery']

/** Creates a function that calls `flush` if it is due, past the response if the platform allows it. */
export function flusher(
  name: string,
  { flush, flushEvery = '5s' }: FlushOptions,
  problem: ExtensionContext['problem'],
): (waitUntil: WaitUntil | undefined) => void {
  const everyMs = durationMs(`${name}.flushEvery`, flushEvery)
  if (flush === undefined) return () => {}
  assertFunction(`${name}.flush`, flush)
  let flushedAt = -Infinity

  async function send(): Promise<void> {
    try {
      await flush?.()
    } catch (error) {
      const message = `The flush of "${name}" failed; what it had collected may be lost`
      problem({ code: 'extension_failed', message, error })
    }
  }

  return (waitUntil) => {
    const now = performance.now()
    if (now - flushedAt < everyMs) return
    flushedAt = now
    const sending = send()
    waitUntil?.(sending)
  }
}

/** Returns listeners that also flush after a decision. */
export const flushing = <On extends Required<Pick<Listeners, 'decision'>>>(
  on: On,
  flush: (waitUntil: WaitUntil | undefined) => void,
): On => ({ ...on, decision: inTurn(on.decision, ({ call }) => flush(call.waitUntil)) })

/** Returns a listener that calls two others. */
export const inTurn =
  <Event>(first: (event: Event) => void, second: (event: Event) => void) =>
  (event: Event): void => {
    first(event)
    second(event)
  }
