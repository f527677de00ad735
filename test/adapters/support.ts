import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import {
  createLimiter,
  fixedWindow,
  listen as listenTo,
  type AllowedDecision,
  type Limiter,
} from '@sluice/core'
import type { ChargingCost, RequestReservation } from '@sluice/core/http'
import type { denialId } from '@sluice/usage/denials'
import { expect, vi } from 'vitest'
import { subject } from '../core/http/support.ts'

type AppSubject = (
  request: Request,
) => ReturnType<typeof subject> | Promise<ReturnType<typeof subject>>

/** The app that each framework serves: the adapter before four routes, and one route without it. */
export interface App {
  readonly limiter: Limiter
  readonly options: {
    readonly subject: AppSubject
    readonly cost?: ChargingCost
    readonly onDenied?: ReturnType<typeof denialId>
    readonly spentStatus?: 402 | 429
  }
  /** Answers `GET` and `POST /api/ai/chat`. */
  readonly chat: () => string
  /** Answers `POST /api/ai/settle`, which settles what is reserved for it. */
  readonly settle: (reservation: RequestReservation) => Promise<string>
  /** Answers `POST /api/ai/stream`. */
  readonly stream: () => ReadableStream<Uint8Array>
  /** Throws in the handler of `POST /api/ai/fail`. */
  readonly fail: () => never
  /** Answers `POST /free`, which is not limited. */
  readonly free: () => string
}

/** An app that is being served. */
export interface Served {
  /** The origin, without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

/** Serves an app with a framework, on a free port. */
export type Serve = (app: App) => Promise<Served>

/** An app of these limits. Its handlers answer with their names. */
export function createApp(limiter: Limiter, parts: Partial<App> = {}): App {
  return {
    limiter,
    options: { subject },
    chat: () => 'chat',
    settle: async () => 'settle',
    stream: () => new Response('stream').body ?? new ReadableStream(),
    fail() {
      throw new Error('The handler failed')
    },
    free: () => 'free',
    ...parts,
  }
}

/** Listens on a free port. */
export async function listen(server: Server | Http2Server): Promise<Served> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Holds the timers of so many milliseconds. Returns functions that end them. */
export function holdTimers(heldMs: number): (() => void)[] {
  const held: (() => void)[] = []
  const { setTimeout: start } = globalThis
  const hold = (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) => {
    if (ms !== heldMs) return start(run, ms, ...values)
    held.push(() => run(...values))
    return undefined
  }
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(hold as never)
  return held
}

const down = () => Promise.reject(new Error('down'))

/** A limiter of so many requests, whose store is down. */
export const storeDown = (limit: number): Limiter =>
  createLimiter({
    store: { check: down, run: down, reset: down },
    policies: [fixedWindow({ name: 'rpm', limit, window: '366d', per: ['tenant'] })],
    extensions: [listenTo({ problem: () => {} })],
  })

/** Returns the reservation, which must be the decision that a handler finds, too. */
export function sameDecision(
  reservation: RequestReservation,
  decision: AllowedDecision | undefined,
): RequestReservation {
  expect(decision).toBe(reservation)
  return reservation
}
