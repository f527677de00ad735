import { DatabaseSync } from 'node:sqlite'
import type { Store } from '@sluice/core'
import { kindsOf, PlaceStates } from '@sluice/core/internal/journal'
import type { OwnParts } from '@sluice/cloudflare/durable-object'
import {
  durableObjects,
  type DurableObjectsOptions,
} from '../../packages/cloudflare/dist/durable-object/durable-objects.js'
import type { Namespace } from './remote-objects.ts'
import { inPlaces } from './in-places.ts'
import { ObjectJournal } from '../../packages/cloudflare/dist/durable-object/object-journal.js'
import { Place } from '../../packages/cloudflare/dist/durable-object/place.js'

/** The objects of one class in this process, each with a SQLite database of its own. */
export interface Objects {
  readonly namespace: Namespace
  /** A store that counts in them. */
  store(options?: DurableObjectsOptions): Store
  /** Drops the memory of all objects, as when a machine dies: what they have stored is loaded again. */
  restart(): void
}

/** Makes objects as workerd runs them, but for the platform: the same storage, the same decisions. */
export function objectsInProcess(own: OwnParts = {}, clock: () => number = Date.now): Objects {
  const databases = new Map<string, Rows>()
  const awake = new Map<string, Place>()

  const home = () => durableObjects(namespace, { shardBy: 'global', timeoutMs: 30_000 })

  function wake(name: string): Place {
    const known = awake.get(name)
    if (known) return known
    const kinds = kindsOf(own)
    const journal = new ObjectJournal(storageOf(name))
    const states = new PlaceStates(journal, kinds, clock)
    const place = new Place({ name, states, kinds, leases: own.leases, choices: own.choices, home })
    awake.set(name, place)
    return place
  }

  function storageOf(name: string): Rows {
    const rows = databases.get(name) ?? sqliteRows()
    databases.set(name, rows)
    return rows
  }

  const namespace: Namespace = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async sluice(message: string) {
        try {
          // A call crosses as data.
          return structuredClone(await wake(name).call(message))
        } catch (error) {
          awake.delete(name)
          throw error
        }
      },
    }),
  }

  return {
    namespace,
    store: (options) => durableObjects(namespace, options),
    restart: () => awake.clear(),
  }
}

/** A store in objects, as `inPlaces` makes it. */
export const storeIn = (namespace: Namespace, prefix?: string): Store =>
  inPlaces((shardBy) => {
    const options = { shardBy, timeoutMs: 30_000, ...(prefix !== undefined && { prefix }) }
    return durableObjects(namespace, options)
  })

type Rows = ConstructorParameters<typeof ObjectJournal>[0]

/** Makes a database in memory, as an object has one on disk. */
export function sqliteRows(): Rows {
  const database = new DatabaseSync(':memory:')
  return {
    exec(query: string, ...bindings: (string | number)[]) {
      const rows = database.prepare(query).all(...bindings)
      return { toArray: () => rows }
    },
  }
}
