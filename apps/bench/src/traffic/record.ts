import { createHash } from 'node:crypto'

/** A Redis command: its name and arguments. */
export type RedisCommand = readonly (string | number)[]

/** Recorded scripts by their SHA-1, and the commands that run them. */
export interface Traffic {
  readonly scripts: ReadonlyMap<string, string>
  readonly commands: readonly RedisCommand[]
}

/** Creates an answer that costs no time: only the parts of a `Response` that a client reads. */
const instantAnswer = (text: string): Response =>
  ({
    ok: true,
    status: 200,
    headers: new Headers({ 'content-type': 'application/json' }),
    text: () => Promise.resolve(text),
    json: () => Promise.resolve(JSON.parse(text)),
  }) as Response

/**
 * A `fetch` that sends requests and records them until `freeze`. From then on it answers at once with
 * the last successful reply.
 */
export class StoreTap {
  /** The scripts of all requests, by their SHA-1. */
  readonly scripts = new Map<string, string>()
  /** The body of the last request. */
  lastBody = ''
  #lastReply = ''
  #answer: Promise<Response> | undefined
  #onBody: ((body: string) => void) | undefined

  /** The `fetch` option of the store. */
  readonly fetch = (url: string, init: RequestInit): Promise<Response> => {
    if (this.#answer === undefined) return this.#send(url, init)
    this.#onBody?.(init.body as string)
    return this.#answer
  }

  /** Answers at once from now on. `onBody` receives the bodies of the requests. */
  freeze(onBody?: (body: string) => void): void {
    if (this.#lastReply === '') throw new Error('No reply was recorded')
    this.#answer = Promise.resolve(instantAnswer(this.#lastReply))
    this.#onBody = onBody
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    this.lastBody = init.body as string
    const [name, text] = JSON.parse(this.lastBody) as string[]
    if (name === 'EVAL' && text) this.scripts.set(sha1(text), text)
    const response = await fetch(url, init)
    const reply = await response.clone().text()
    if (response.ok) this.#lastReply = reply
    return response
  }
}

/** A client that records the traffic of an `@upstash/ratelimit` limiter and sends nothing. */
export class PeerRecorder {
  readonly scripts = new Map<string, string>()
  readonly commands: RedisCommand[] = []

  async evalsha(sha: string, keys: string[], args: unknown[]): Promise<number[]> {
    if (!this.scripts.has(sha)) throw new Error('NOSCRIPT')
    this.commands.push(['EVALSHA', sha, keys.length, ...keys, ...args.map(String)])
    return [1, 1]
  }

  async eval(text: string, keys: string[], args: unknown[]): Promise<number[]> {
    const sha = sha1(text)
    this.scripts.set(sha, text)
    return this.evalsha(sha, keys, args)
  }
}

export const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')
