import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isText, placeOf } from './addresses.ts'

/** Puts the Markdown of each page beside it, and `llms.txt`, for agents and for the button that copies a page. */
export function writeTwins(root: string, outDir: string, pages: readonly string[]): void {
  for (const page of [...pages.filter(isText), 'llms.txt']) {
    const twin = join(outDir, placeOf(page))
    mkdirSync(dirname(twin), { recursive: true })
    cpSync(join(root, page), twin)
  }
}
