import { resolve } from 'node:path'
import { invalidOption } from '../internal/validation.ts'
import { StoreError } from '../errors.ts'
import type { PlaceCall } from '../journal/message.ts'
import type { Operation, Store } from '../stores/store.ts'
import { Folder } from './folder.ts'

/** The folders of this process, by their paths. */
interface Folders {
  readonly byPath: Map<string, Folder>
  isNoted: boolean
}

const NAME: unique symbol = Symbol.for('@sluice/core/file')

/** Returns the folders that all copies of this module share: a bundler may make several. */
function foldersOfProcess(): Folders {
  const holder = globalThis as { [NAME]?: Folders }
  return (holder[NAME] ??= { byPath: new Map(), isNoted: false })
}

/**
 * Creates a store in a folder of this machine, for one process: no Redis, no account. Counts and records survive a
 * restart of the process. Limiters with the same folder share them. The first decision makes the folder and opens it.
 *
 * A decision is answered once it is written. It survives a kill of the process; what the machine had not yet put on its
 * disk is lost with the machine. A second process gets the error `store_refused`.
 *
 * @param path The folder, such as `.sluice`. Keep it out of version control.
 * @throws ConfigError When `path` is no text.
 * @example
 * const limiter = createLimiter({ store: file('.sluice'), policies })
 */
export function file(path: string): Store {
  if (typeof path !== 'string' || path === '') {
    throw invalidOption('file.path', 'must be the path of a folder, such as ".sluice"', path)
  }

  async function call(asked: PlaceCall): Promise<object> {
    const answer = await folderAt(resolve(path)).call(asked)
    if (!('refusal' in answer)) return answer
    throw new StoreError('store_refused', `The folder ${path} ${answer.refusal}`)
  }

  return {
    check: async (request) => ((await call({ check: request })) as { reply: never }).reply,
    run: async <Result>(run: Operation<Result>) =>
      ((await call({ run })) as { result: Result }).result,
    async reset(keys) {
      await call({ reset: keys })
    },
  }
}

function folderAt(path: string): Folder {
  const folders = foldersOfProcess()
  const known = folders.byPath.get(path)
  if (known) return known
  const folder = new Folder(path)
  folders.byPath.set(path, folder)
  if (!folders.isNoted) {
    folders.isNoted = true
    process.once('exit', () => {
      for (const each of folders.byPath.values()) each.close()
    })
    // Standard output may be a protocol's, as in an MCP server.
    console.warn(
      `Sluice: file() counts in ${path}, for this process alone. To count for several processes or machines, ` +
        'replace it by upstash() (docs/without-redis.md)',
    )
  }
  return folder
}
