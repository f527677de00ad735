/* The function `pipelined`: a `fetch` for `upstash` that sends the calls of one moment in one HTTP request. */
import type { Fetch } from './rest-transport.ts'
import { sharesPromises } from '../../internal/runtime.ts'
import { assertFunction, assertKnownOptions } from '../../internal/validation.ts'

/** Options of `pipelined`. */
export interface PipelinedOptions {
  /** The function that sends requests. @default the global `fetch` */
  readonly fetch?: Fetch
}

type Init = Parameters<Fetch>[1]
type Answer = Awaited<ReturnType<Fetch>>

/** A call that waits for its request. */
interface Call {
  readonly init: Init
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The calls of one moment to one database. */
interface Batch {
  readonly calls: Call[]
  /** The length of all bodies, in UTF-16 units. */
  length: number
}

/** The bounds of one request. A call above `MAX_LENGTH` by itself is sent alone. */
const MAX_CALLS = 128
const MAX_LENGTH = 256_000

/** The microtask turns without another call after which a moment is over. A reservation takes more turns than a check. */
const TURNS = 16

/**
 * Creates a `fetch` for `upstash` that sends concurrent calls to `/pipeline`, in one HTTP request. It waits
 * for nothing but other code that is ready to run: calls share a request if they begin at the same moment, and
 * a call by itself is sent as always. Each call keeps its own reply, error and deadline, and none is sent twice. In a runtime that is no
 * server process, such as Cloudflare Workers, each call is sent by itself. See `docs/fewer-trips.md`.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const store = upstash({ fetch: pipelined() })
 */
export function pipelined(options: PipelinedOptions = {}): Fetch {
  assertKnownOptions('pipelined', options, ['fetch'])
  if (options.fetch !== undefined) assertFunction('pipelined.fetch', options.fetch)
  // Async, so that one that throws at once rejects, too. The global one is looked up at each call.
  const send: Fetch = async (target, init) => (options.fetch ?? fetch)(target, init)
  const batches = new Map<string, Batch>()

  /** Sends a batch, unless it was sent before because it was full. */
  function flush(key: string, batch: Batch, url: string): void {
    if (batches.get(key) === batch) batches.delete(key)
    const calls = batch.calls.splice(0).filter(({ init }) => !init.signal.aborted)
    const [first, second] = calls
    if (first === undefined) return
    if (second === undefined) send(url, first.init).then(first.resolve, first.reject)
    else void sendTogether(send, url, calls)
  }

  return (url, init) => {
    if (!sharesPromises()) return send(url, init)
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new Error('The call was aborted'))
      if (init.signal.aborted) {
        abort()
        return
      }
      init.signal.addEventListener('abort', abort)
      const key = `${url} ${init.headers['authorization']}`
      const waiting = batches.get(key)
      if (waiting && waiting.length + init.body.length > MAX_LENGTH) flush(key, waiting, url)
      const batch = batches.get(key) ?? { calls: [], length: 0 }
      if (batch.calls.length === 0) {
        batches.set(key, batch)
        void endOfMoment(batch).then(() => flush(key, batch, url))
      }
      batch.calls.push({ init, resolve, reject })
      batch.length += init.body.length
      if (batch.calls.length >= MAX_CALLS) flush(key, batch, url)
    })
  }
}

/** Resolves when no call has come for some turns. No timer: whoever is ready to run has run by then. */
async function endOfMoment({ calls }: Batch): Promise<void> {
  let count
  do {
    count = calls.length
    for (let turn = 0; turn < TURNS; turn += 1) await Promise.resolve()
  } while (calls.length > count)
}

/** Sends calls in one request, which is aborted only when all of them are. */
async function sendTogether(send: Fetch, url: string, calls: readonly Call[]): Promise<void> {
  const controller = new AbortController()
  let open = calls.length
  for (const { init } of calls) {
    init.signal.addEventListener('abort', () => {
      open -= 1
      if (open === 0) controller.abort()
    })
  }
  const [{ init }] = calls as [Call]
  const body = `[${calls.map((call) => call.init.body).join()}]`
  try {
    const response = await send(pipelineUrl(url), { ...init, body, signal: controller.signal })
    const { ok, status } = response
    const text = await response.text()
    const replies = ok ? parseReplies(text, calls.length) : undefined
    for (const [index, { resolve }] of calls.entries()) {
      // An answer that is not a list of replies is everyone's answer.
      resolve(replies ? answerOf(replies[index]) : answer(ok, status, ok ? '' : text))
    }
  } catch (error) {
    for (const { reject } of calls) reject(error)
  }
}

const pipelineUrl = (url: string): string => `${url.replace(/\/$/, '')}/pipeline`

function parseReplies(text: string, length: number): readonly unknown[] | undefined {
  try {
    const replies: unknown = JSON.parse(text)
    return Array.isArray(replies) && replies.length === length ? replies : undefined
  } catch {
    return undefined
  }
}

/** Creates the answer that a reply would have been by itself: an error of Redis has the status 400. */
function answerOf(reply: unknown): Answer {
  const isError = typeof reply === 'object' && reply !== null && 'error' in reply
  return answer(!isError, isError ? 400 : 200, JSON.stringify(reply))
}

const answer = (ok: boolean, status: number, text: string): Answer => ({
  ok,
  status,
  text: () => Promise.resolve(text),
})
