import { startWorker } from '../cloudflare/support.ts'
import { callObject, namespaceAt, type Namespace } from './remote-objects.ts'

/** Objects in workerd, which this process reaches as a Worker does. */
export interface WorkerdObjects extends AsyncDisposable {
  readonly url: URL
  readonly namespace: Namespace
  /** The facts of the object of this name. */
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

/** Options of `startWorkerdObjects`. */
interface WorkerdOptions {
  /** The port. @default any */
  readonly port?: number
  /** The folder that outlives it. @default none */
  readonly storage?: string
}

export async function startWorkerdObjects(options: WorkerdOptions = {}): Promise<WorkerdObjects> {
  const worker = await startWorker('objects', {}, { objects: { LIMITS: 'Limits' }, ...options })
  const call = (name: string, method: string) => callObject(worker.url, name, method)
  return {
    url: worker.url,
    namespace: namespaceAt(worker.url),
    facts: async (name) => (await call(name, 'facts')) as ObjectFacts,
    die: async (name) => void (await call(name, 'die').catch(() => {})),
    ring: async (name) => void (await call(name, 'ring')),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}
