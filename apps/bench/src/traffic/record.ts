import { createHash } from 'node:crypto'

/** A Redis command as it is sent. */
export type RedisCommand = readonly (string | number)[]

/** Scripts by the SHA-1 that EVALSHA names them by, and the commands that run them. */
export interface Traffic {
  readonly scripts: ReadonlyMap<string, string>
  readonly commands: readonly RedisCommand[]
}

/** The answer of a server that costs no time: only the parts of a `Response` that a client reads. */
const answerOf = (text: string): Response =>
  ({
    ok: true,
    status: 200,
    headers: new Headers({ 'content-type': 'application/json' }),
    text: () => Promise.resolve(text),
    json: () => Promise.resolve(JSON.parse(text)),
  }) as Response

/**
 * A `fetch` that passes requests on until `freeze`, and from then on answers at once with the last
 * reply that was no error.
 */
export class StoreTap {
  /** The scripts that went by. */
  readonly scripts = new Map<string, string>()
  /** The last request's body. */
  lastBody = ''
  #lastReply = ''
  #answer: Promise<Response> | undefined
  #watch: ((body: string) => void) | undefined

  /** To be passed to the store. */
  readonly fetch = (url: string, init: RequestInit): Promise<Response> => {
    if (this.#answer === undefined) return this.#pass(url, init)
    this.#watch?.(init.body as string)
    return this.#answer
  }

  /** Answers at once from now on; `watch` sees the bodies. */
  freeze(watch?: (body: string) => void): void {
    if (this.#lastReply === '') throw new Error('No reply has gone by')
    this.#answer = Promise.resolve(answerOf(this.#lastReply))
    this.#watch = watch
  }

  async #pass(url: string, init: RequestInit): Promise<Response> {
    this.lastBody = init.body as string
    const [name, text] = JSON.parse(this.lastBody) as string[]
    if (name === 'EVAL' && text) this.scripts.set(sha1(text), text)
    const response = await fetch(url, init)
    const reply = await response.clone().text()
    if (response.ok) this.#lastReply = reply
    return response
  }
}

/** The traffic of an `@upstash/ratelimit` limiter, recorded by a client that sends nothing. */
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
