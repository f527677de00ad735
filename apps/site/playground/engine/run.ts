import type { Program } from './program.ts'
import type { Arrival, Traffic } from './arrivals.ts'
import { EventQueue } from './event-queue.ts'
import { Recording, type Run } from './recording.ts'

/** The units of each call: reserved, and used in the end. */
export interface Use {
  readonly estimated: Readonly<Record<string, number>>
  readonly used: Readonly<Record<string, number>>
  /** The milliseconds from the decision until the call is settled. */
  readonly lastsMs: number
}

interface Event {
  readonly at: number
  readonly order: number
  readonly act: (at: number) => Promise<void>
}

/** The events after which a page may look at the time. */
const PAUSE_EVERY = 50

/** Retries come after the calls that end in the same millisecond. */
const RETRY = 1e12

/**
 * Runs traffic through a program, event after event. Of events of one millisecond the end of a call is first, then retries,
 * then new requests.
 *
 * @param pause Called now and then, so that a page can go on. A run whose `pause` rejects is over.
 */
export async function run(
  { clock, decide, welcome }: Program,
  { startMs, arrivals, retryIn }: Traffic,
  { estimated, used, lastsMs }: Use,
  pause?: () => Promise<void>,
): Promise<Run> {
  const events = new EventQueue<Event>()
  const recording = new Recording()
  const known = new Set<string>()
  let order = 0

  async function ask(
    at: number,
    tenant: string,
    attempt: number,
    own: Arrival['used'],
  ): Promise<void> {
    if (welcome && !known.has(tenant)) await welcome(tenant)
    known.add(tenant)
    const decision = await decide(tenant, own ?? estimated)
    const step = recording.add(at, tenant, attempt, decision)
    order += 1
    if (decision.allowed) {
      const { settle, delayMs } = decision
      if (!settle) return
      const act = async (end: number): Promise<void> => {
        const { returned, overrun } = await settle(own ?? used)
        step.settled = { at: end, returned, overrun }
      }
      events.add({ at: at + delayMs + lastsMs, order, act })
      return
    }
    const waitMs = retryIn(decision.retryAfterMs, attempt)
    if (waitMs === undefined) return
    const act = (again: number): Promise<void> => ask(again, tenant, attempt + 1, own)
    events.add({ at: at + waitMs, order: RETRY + order, act })
  }

  let next = 0
  for (let count = 1; ; count += 1) {
    const arrival = arrivals[next]
    const event = events.first
    if (event && event.at <= (arrival?.at ?? Infinity)) {
      events.take()
      clock.set(startMs + event.at)
      await event.act(event.at)
    } else if (arrival) {
      next += 1
      clock.set(startMs + arrival.at)
      await ask(arrival.at, arrival.tenant, 1, arrival.used)
    } else return recording.read()
    if (pause && count % PAUSE_EVERY === 0) await pause()
  }
}
