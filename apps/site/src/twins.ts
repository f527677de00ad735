import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Puts the Markdown of each page beside it, and `llms.txt`, for agents and for the button that copies a page. */
export function writeTwins(root: string, outDir: string, pages: readonly string[]): void {
  for (const page of [...pages, 'llms.txt']) {
    const twin = join(outDir, page.replace(/README\.md$/, 'index.md'))
    mkdirSync(dirname(twin), { recursive: true })
    cpSync(join(root, page), twin)
  }
}
