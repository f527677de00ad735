/* Sending of the commands of one moment in one HTTP request, on servers. */
import { sharesPromises } from '../../internal/runtime.ts'
import { endOfTurn } from '../../internal/end-of-turn.ts'
import { sharedRequests } from '../../internal/shared-failures.ts'
import { post, resultOf, type Database, type Fetch, type Sender } from './rest-transport.ts'
import { globalFetch } from './upstash-store.ts'

/** A command that waits for its request. */
interface Call {
  readonly command: string
  readonly signal: AbortSignal
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The calls of one moment to one database. */
interface Batch {
  readonly send: Fetch
  readonly database: Database
  readonly calls: Call[]
  /** The length of all commands, in UTF-16 units. */
  length: number
}

/** The bounds of one request. A command above `MAX_LENGTH` by itself is sent alone. */
const MAX_CALLS = 128
const MAX_LENGTH = 256_000

/** The microtask turns without another call after which a moment is over. A reservation takes more turns than a check. */
const TURNS = 16

/** The batches of this moment, of all stores. */
const batches = new Set<Batch>()

/** The batches that were sent, until they are answered, or the first of their calls has given up. */
const underWay = new Set<Batch>()

/**
 * Sends a command together with all others that begin at the same moment, to `/pipeline`. A command by itself is sent
 * at once, as always. Each keeps its own result, error and deadline, and none is sent twice. Where one request may not
 * wait for another, each command has its own.
 */
export const sendTogether: Sender = (send, database, command, signal) => {
  if (!sharesPromises()) return post(send, database, command, signal)
  return new Promise((resolve, reject) => {
    const batch = batchFor(send, database, command.length)
    batch.calls.push({ command, signal, resolve, reject })
    batch.length += command.length
    if (batch.calls.length >= MAX_CALLS) flush(batch)
  })
}

/** Returns the open batch of a database if it has room, or else a new one. */
function batchFor(send: Fetch, database: Database, length: number): Batch {
  for (const batch of batches) {
    if (batch.send !== send || batch.database.join() !== database.join()) continue
    if (batch.length + length <= MAX_LENGTH) return batch
    flush(batch)
  }
  const batch: Batch = { send, database, calls: [], length: 0 }
  batches.add(batch)
  void endOfMoment(batch).then(() => flush(batch))
  return batch
}

/** Resolves when whatever was ready to run has run; while a request is under way, when the turn has ended, too. */
async function endOfMoment({ calls }: Batch): Promise<void> {
  let count
  do {
    count = calls.length
    for (let turn = 0; turn < TURNS; turn += 1) await Promise.resolve()
  } while (calls.length > count)
  if (underWay.size > 0) await endOfTurn()
}

/** Sends a batch, unless it was sent before because it was full. */
function flush(batch: Batch): void {
  if (!batches.delete(batch)) return
  const { send, database } = batch
  // The others have had their error already.
  const calls = batch.calls.filter(({ signal }) => !signal.aborted)
  const [first, second] = calls
  if (first === undefined) return
  const { command, signal, resolve, reject } = first
  const request = second
    ? sendAll(send, database, calls)
    : post(send, database, command, signal).then(resolve, reject)
  const end = (): unknown => underWay.delete(batch)
  underWay.add(batch)
  signal.addEventListener('abort', end)
  void request.finally(end)
}

/** Sends calls in one request, which is aborted only when all of them are. */
async function sendAll(send: Fetch, [url, token]: Database, calls: readonly Call[]): Promise<void> {
  const controller = new AbortController()
  let open = calls.length
  for (const { signal } of calls) {
    signal.addEventListener('abort', () => {
      sharedRequests.set(signal.reason as object, controller)
      open -= 1
      if (open === 0) controller.abort()
    })
  }
  const body = `[${calls.map(({ command }) => command).join()}]`
  try {
    const database = [`${url.replace(/\/$/, '')}/pipeline`, token] as const
    await post(sharedFetch(send), database, body, controller.signal, (json, ok, status) => {
      const isList = ok && Array.isArray(json) && json.length === calls.length
      // An answer that is not a list of replies is everyone's failure.
      const replies = isList ? json : resultOf(ok ? undefined : json, ok, status)
      for (const [index, { resolve, reject }] of calls.entries()) {
        try {
          resolve(resultOf((replies as unknown[])[index], ok, status))
        } catch (error) {
          reject(error)
        }
      }
    })
  } catch (error) {
    sharedRequests.set(error as object, controller)
    for (const { reject } of calls) reject(error)
  }
}

const NEXT = '_nextOriginalFetch'

/**
 * Returns the `fetch` for a shared request. That of Next.js acts for the render that calls it: it caches, and gives up
 * with it. A shared request is no render's, so it takes the `fetch` that Next.js has wrapped.
 */
const sharedFetch = (send: Fetch): Fetch =>
  (send === globalFetch && (fetch as { readonly [NEXT]?: Fetch })[NEXT]) || send
