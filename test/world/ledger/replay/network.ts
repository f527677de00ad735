import { AsyncLocalStorage } from 'node:async_hooks'
import { StoreError } from '@sluice/core'
import type { Trip } from '../model/steps.ts'

/** The process in which code runs: whatever it starts, however late, is its. */
export class Process {
  /** The answers that its caller was told since it was last asked. */
  told = ''
  /** The round trips that wait for a pause to end. */
  readonly pauses: (() => void)[] = []
}

/** A round trip that has left its process, and waits for its fate. */
interface Held {
  readonly process: Process | undefined
  readonly keys: readonly string[]
  /** Returns false if the call has changed nothing and another will follow it, as after `NOSCRIPT`. */
  readonly end: (trip: Trip) => Promise<boolean>
}

const running = new AsyncLocalStorage<Process>()

/** Turns of the event loop after which a call that has not been sent never will be. */
const MAX_TURNS = 20_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Holds each round trip until its fate is decided. Two never arrive at once, as in a store. */
export class Network {
  readonly #held: Held[] = []

  /** Runs code as a part of a process. */
  run(process: Process, work: () => Promise<void>): void {
    running.run(process, () => void work())
  }

  /** Holds a round trip of the process that runs. One that belongs to none is not held. */
  hold<T>(
    keys: readonly string[],
    apply: () => Promise<T>,
    isFinal: (result: T) => boolean = () => true,
  ): Promise<T> {
    const process = running.getStore()
    if (!process) return apply()
    return new Promise((resolve, reject) => {
      const end = async (trip: Trip): Promise<boolean> => {
        const lose = (): void => reject(new StoreError('store_unreachable', trip))
        if (trip === 'request lost') {
          lose()
          return true
        }
        const result = await apply()
        const hasEnded = isFinal(result)
        if (trip === 'reply lost' && hasEnded) lose()
        else resolve(result)
        return hasEnded
      }
      this.#held.push({ process, keys, end })
    })
  }

  /** Decides the fate of a round trip, and lets the process go on until it waits. */
  async deliver(
    process: Process,
    matches: (keys: readonly string[]) => boolean,
    trip: Trip,
  ): Promise<readonly string[]> {
    for (let turns = 0; turns < MAX_TURNS; turns += 1) {
      const at = this.#held.findIndex((held) => held.process === process && matches(held.keys))
      if (at < 0) {
        await turn()
        continue
      }
      const [held] = this.#held.splice(at, 1) as [Held]
      const hasEnded = await held.end(trip)
      await turn()
      if (hasEnded) return held.keys
    }
    throw new Error('the process has sent no such call')
  }

  /** Returns the number of round trips that a process waits for, once it is the expected one or stays another. */
  async waitingFor(process: Process, expected: number): Promise<number> {
    const count = (): number => this.#held.filter((held) => held.process === process).length
    await turn()
    // The first call of a script is sent late, because its digest is made elsewhere.
    for (let turns = 0; count() !== expected && turns < MAX_TURNS; turns += 1) await turn()
    return count()
  }

  /** Lets all processes go on until they wait. */
  async goOn(): Promise<void> {
    await turn()
  }

  /** Ends a process: nothing that it has sent arrives any more. */
  kill(process: Process): void {
    const rest = this.#held.filter((held) => held.process !== process)
    this.#held.splice(0, this.#held.length, ...rest)
  }
}

/** Deadlines are a second, and no call is late here. Pauses are shorter, and end when the path says so. */
const MIN_DEADLINE_MS = 500

/** Takes over the timers of processes. Returns a function that gives them back. */
export function holdTimers(): () => void {
  const { setTimeout: original } = globalThis
  const held = (work: () => void, ms = 0): unknown => {
    const process = running.getStore()
    if (!process) return original(work, ms)
    if (ms < MIN_DEADLINE_MS) process.pauses.push(work)
    return undefined
  }
  globalThis.setTimeout = held as typeof setTimeout
  return () => void (globalThis.setTimeout = original)
}
