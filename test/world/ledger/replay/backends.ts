import type { Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { startEmbedded } from '../../../../packages/local/dist/engines/embedded/engine.js'
import { CommandError } from '../../../../packages/local/dist/engines/engine.js'
import type { Arg, Reply } from '../../../../packages/local/dist/engines/engine.js'
import type { Network } from './network.ts'

/** A store that all isolates share, each by way of the network. */
export interface Backend {
  /** Creates the store of one isolate. */
  store(network: Network): Store
  close(): Promise<void>
}

export type BackendName = 'memory' | 'the Lua in the embedded engine'

export const startBackend = async (name: BackendName, now: () => number): Promise<Backend> =>
  name === 'memory' ? inMemory(now) : inEngine(now)

/** Memory counts by the clock of its callers. A call that was held counts by the time at which it arrives. */
function inMemory(now: () => number): Backend {
  const store = memory({ maxKeys: 1_000_000 })
  return {
    store: (network) => ({
      check(request) {
        const keys = [...request.entries.map(({ key }) => key), ...(request.mark?.keys ?? [])]
        return network.hold(keys, () => store.check({ ...request, now: now() }))
      },
      run: (operation) =>
        network.hold(operation.keys, () =>
          store.run({ ...operation, data: { ...(operation.data as object), now: now() } }),
        ),
      reset: (keys) => network.hold(keys, () => store.reset(keys)),
    }),
    close: async () => {},
  }
}

/** Replies after which nothing has happened, and the same is sent in another way. */
const NOTHING_RAN = /^(?:NOSCRIPT|.*shebang|.*near '#')/i

async function inEngine(now: () => number): Promise<Backend> {
  const engine = await startEmbedded({ now })
  const sendBy =
    (network: Network): NonNullable<UpstashOptions['fetch']> =>
    async (_, { body }) => {
      const command = (JSON.parse(body) as (string | number)[]).map(String)
      const reply = await network.hold(
        keysOf(command),
        () => engine.execute(command as unknown as readonly [string, ...Arg[]]),
        (result) => !(result instanceof CommandError && NOTHING_RAN.test(result.message)),
      )
      return reply instanceof CommandError
        ? answer(400, { error: reply.message })
        : answer(200, { result: readable(reply) })
    }
  return {
    store: (network) =>
      upstash({ url: 'http://engine', token: 'token', prefix: 'p', fetch: sendBy(network) }),
    close: () => engine.close(),
  }
}

const answer = (status: number, body: unknown): Pick<Response, 'ok' | 'status' | 'text'> => ({
  ok: status === 200,
  status,
  text: async () => JSON.stringify(body),
})

const keysOf = ([name, , count, ...rest]: readonly string[]): readonly string[] =>
  name === 'DEL' ? [] : rest.slice(0, Number(count))

function readable(reply: Reply): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString()
  return Array.isArray(reply) ? reply.map(readable) : reply
}
