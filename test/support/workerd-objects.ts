import { decode, kindsOf } from '@sluice/core/internal/places'
import { startWorker } from '../cloudflare/support.ts'
import type { Namespace } from './objects.ts'

/** Objects in workerd, which this process reaches as a Worker does. */
export interface WorkerdObjects extends AsyncDisposable {
  readonly namespace: Namespace
  /** What is to be known of the object of this name. */
  facts(name: string): Promise<ObjectFacts>
  /** Aborts an object. */
  die(name: string): Promise<void>
  /** Has the platform run the alarm of an object. */
  ring(name: string): Promise<void>
}

interface ObjectFacts {
  /** The rows that it has written since it was started. */
  readonly rows: number
  /** The time of its alarm, in epoch ms. */
  readonly alarm: number | null
  readonly tables: number
}

const KINDS = kindsOf()

export async function startWorkerdObjects(fixture = 'objects'): Promise<WorkerdObjects> {
  const worker = await startWorker(fixture, {}, { objects: { LIMITS: 'Limits' } })
  async function call(name: string, method: string, message?: string): Promise<unknown> {
    const response = await fetch(worker.url, {
      method: 'POST',
      body: JSON.stringify({ name, method, message }),
    })
    const text = await response.text()
    if (response.ok) return decode(text, KINDS)
    throw Object.assign(new Error(), JSON.parse(text))
  }
  return {
    namespace: {
      idFromName: (name) => name,
      get: (name) => ({
        async sluice(message) {
          const answer = (await call(name, 'sluice', message)) as { reply?: { values: unknown[] } }
          const { reply } = answer
          // JSON has no undefined. Objects answer as structured data, which has.
          if (reply) reply.values = reply.values.map((value) => value ?? undefined)
          return answer as never
        },
      }),
    },
    facts: async (name) => (await call(name, 'facts')) as ObjectFacts,
    die: async (name) => void (await call(name, 'die').catch(() => {})),
    ring: async (name) => void (await call(name, 'ring')),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}
