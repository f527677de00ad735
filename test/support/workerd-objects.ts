import { decode, kindsOf } from '@sluice/core/internal/places'
import { startWorker } from '../cloudflare/support.ts'
import type { Namespace } from './objects.ts'

/** Objects in workerd, which this process reaches as a Worker does. */
export interface WorkerdObjects extends AsyncDisposable {
  /** A binding whose objects no other one has. */
  namespace(): Namespace & {
    facts(name: string): Promise<ObjectFacts>
    die(name: string): Promise<void>
    ring(name: string): Promise<void>
  }
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
  let count = 0
  return {
    namespace() {
      count += 1
      const start = `n${count}/`
      return {
        idFromName: (name) => start + name,
        get: (id) => ({
          async sluice(message) {
            const answer = (await call(id, 'sluice', message)) as { reply?: { values: unknown[] } }
            const { reply } = answer
            // JSON has no undefined. Objects answer as structured data, which has.
            if (reply) reply.values = reply.values.map((value) => value ?? undefined)
            return answer
          },
        }),
        facts: async (name) => (await call(start + name, 'facts')) as ObjectFacts,
        die: async (name) => void (await call(start + name, 'die').catch(() => {})),
        ring: async (name) => void (await call(start + name, 'ring')),
      }
    },
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}
