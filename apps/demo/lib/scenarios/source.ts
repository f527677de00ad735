import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A file of the demo. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Reads a file of the demo as it is. `next start` runs in the folder of the demo. */
export async function readSource(path: string): Promise<SourceFile> {
  return {
    path,
    text: await readFile(join(/* turbopackIgnore: true */ process.cwd(), path), 'utf8'),
  }
}
