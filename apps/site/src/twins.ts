import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isText, placeOf } from './addresses.ts'
import { withoutCheckout } from './markdown.ts'

/** The folders of pictures, from the root. */
const PICTURES = ['docs/pictures', 'docs/screenshots']

/**
 * Puts the Markdown of each page beside it, and `llms.txt`, for agents and for the button that copies a page. A README has
 * its own name, too: links in Markdown lead to it.
 */
export function writeTwins(root: string, outDir: string, pages: readonly string[]): void {
  for (const page of [...pages.filter(isText), 'llms.txt']) {
    const twin = join(outDir, placeOf(page))
    const text = withoutCheckout(readFileSync(join(root, page), 'utf8'))
    mkdirSync(dirname(twin), { recursive: true })
    for (const path of new Set([twin, join(dirname(twin), basename(page))]))
      writeFileSync(path, text)
  }
  for (const folder of PICTURES)
    cpSync(join(root, folder), join(outDir, folder), { recursive: true })
}
