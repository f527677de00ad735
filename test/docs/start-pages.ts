import { globSync, readFileSync } from 'node:fs'

const root = new URL('../../docs/start/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(`${name}.md`, root), 'utf8')

const shared = read('README')
const [, call = '', types = ''] = shared.split(/^## (?=Call it|Check types)/m)

/** The `tsconfig.json` that the pages share. */
export const TSCONFIG: string = /```json\n([^]*?)```/.exec(types)?.[1] ?? ''

/** The names of the pages to start with. */
export const START_PAGES: readonly string[] = globSync('*.md', { cwd: root.pathname })
  .map((file) => file.replace('.md', ''))
  .filter((name) => name !== 'README')

/** A page to start with, and after it the calls that it shares with others, if it has none of its own. */
export function startPage(name: string): string {
  const page = read(name)
  return page.includes('README.md#call-it') ? `${page}\n${call}` : page
}

/** The files that begin with a comment with their name: those of a page, and the shared ones that it has not. */
export function filesOf(page: string): Map<string, string> {
  const blocks = `${shared}\n${page}`.matchAll(
    /```\w+\n(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n([^]*?)```/g,
  )
  return new Map(Array.from(blocks, ([, file = '', code = '']) => [file, code]))
}
