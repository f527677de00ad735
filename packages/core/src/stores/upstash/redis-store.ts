import type { Store } from '../store.ts'
import type { Command, Transport } from './transport.ts'
import { systemClock } from '../../clock.ts'
import { StoreError } from '../../errors.ts'
import { decidingScript } from './assemble.ts'
import { checkCall, layoutOf, readCheck } from './protocol.ts'
import { badReply, RedisError } from './transport.ts'

/** Options of every store in Redis. */
export interface RedisStoreOptions {
  /**
   * How long one decision may take, in milliseconds; then the request is aborted and the limiter's
   * `onStoreError` applies. The first one from an isolate includes a TLS handshake. @default 1_000
   */
  readonly timeoutMs?: number
  /** The first part of every key. @default 'sluice' */
  readonly prefix?: string
}

/** A Lua script, with the digests that EVALSHA names it by. */
interface Script {
  /** Locks only the keys it is given. Upstash takes it; stock Redis refuses the flag. */
  readonly locking: ScriptText
  readonly plain: ScriptText
}

interface ScriptText {
  readonly text: string
  readonly sha1: string
}

// Without exactly this first line, Upstash takes a lock on the whole database for each call.
const LOCKING_LINE = '#!lua flags=allow-key-locking\n'

/** Shapes are few. Should they not be, the oldest is assembled again. */
const MAX_SCRIPTS = 256

// For all limiters of an isolate, so that one that is made for a request finds its script. Plain data:
// on Cloudflare a promise made for one request cannot be awaited by another.
const scripts = new Map<string, Script>()

/** A store in Redis: scripts, sent by `transport`, each call under one deadline. */
export function redisStore(transport: Transport, timeoutMs: number, prefix: string): Store {
  const begin = `${prefix}:`
  let locking = true

  async function run(script: Script, call: Command, signal: AbortSignal): Promise<unknown> {
    // Another call may learn meanwhile that the flag is refused.
    const flagged = locking
    const { sha1, text } = flagged ? script.locking : script.plain
    try {
      return await transport(['EVALSHA', sha1, ...call], signal)
    } catch (error) {
      // Only this error proves that nothing was run.
      if (!(error instanceof RedisError) || !error.message.startsWith('NOSCRIPT')) throw error
    }
    try {
      return await transport(['EVAL', text, ...call], signal)
    } catch (error) {
      // Redis 7 refuses the flag; older ones do not know a first line like it.
      const refused = error instanceof RedisError && /shebang|near '#'/i.test(error.message)
      if (!flagged || !refused) throw error
      locking = false
      return transport(['EVAL', script.plain.text, ...call], signal)
    }
  }

  /** Runs a script on what is left of the deadline. */
  async function evaluate(
    name: string,
    source: () => string,
    call: Command,
    startedAt: number,
  ): Promise<unknown> {
    const script = scripts.get(name) ?? (await loadScript(name, source))
    return withDeadline(timeoutMs, startedAt, (signal) => run(script, call, signal))
  }

  return {
    async check(request) {
      const { policies, mark, startedAt } = request
      const reserving = mark !== undefined
      const name = (reserving ? 'reserve ' : 'decide ') + layoutOf(policies).shape
      const source = (): string => decidingScript(policies, reserving)
      const reply = await evaluate(name, source, checkCall(request, begin), startedAt)
      return readCheck(reply, request)
    },

    async run({ lua, startedAt }) {
      const keys = lua.keys.map((key) => begin + key)
      const call = [keys.length, ...keys, ...lua.args]
      const read = lua.parse(await evaluate(lua.name, lua.source, call, startedAt))
      if (read === undefined) throw badReply()
      return read.result
    },

    async reset(keys) {
      const command = ['DEL', ...keys.map((key) => begin + key)]
      const deleted = await withDeadline(timeoutMs, systemClock(), (signal) =>
        transport(command, signal),
      )
      if (!Number.isInteger(deleted)) throw badReply()
    },
  }
}

/** Runs one call until `timeoutMs` after `startedAt`, and aborts it then. */
async function withDeadline<T>(
  timeoutMs: number,
  startedAt: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  // A clock that was set back must not lengthen the wait.
  const leftMs = Math.min(timeoutMs, timeoutMs - (systemClock() - startedAt))
  try {
    // The race bounds the wait even where a custom `fetch` ignores its signal.
    return await new Promise<T>((resolve, reject) => {
      const late = (): void => {
        reject(new StoreError('store_timeout', `The store did not answer within ${timeoutMs} ms`))
        controller.abort()
      }
      if (leftMs <= 0) {
        late()
        return
      }
      timer = setTimeout(late, leftMs)
      call(controller.signal).then(resolve, reject)
    })
  } catch (error) {
    if (!(error instanceof RedisError)) throw error
    // Of Redis' own text only the code word is passed on: the rest may quote keys and arguments.
    const word = /^[A-Z]{2,}/.exec(error.message)?.[0] ?? 'an error'
    throw new StoreError('store_refused', `The store refused the command: ${word}`)
  } finally {
    clearTimeout(timer)
  }
}

/** Makes the script of this name. */
async function loadScript(name: string, source: () => string): Promise<Script> {
  const text = minify(source())
  const script = { locking: await digest(LOCKING_LINE + text), plain: await digest(text) }
  scripts.set(name, script)
  const [oldest = name] = scripts.keys()
  if (scripts.size > MAX_SCRIPTS) scripts.delete(oldest)
  return script
}

/** The script as it is sent: without comments, indentation and empty lines. */
export const minify = (script: string): string =>
  script.replace(/--.*$/gm, '').replace(/\n\s*/g, '\n').trim()

async function digest(text: string): Promise<ScriptText> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return { text, sha1: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}
