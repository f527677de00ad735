import type { MarkdownRenderer } from 'vitepress'
import { pageOf } from './markdown.ts'

/** An entry of a package, and its page of the API reference. */
export interface ApiEntry {
  /** Such as `@sluice/core/http`. */
  readonly name: string
  /** The address of the page in the site. */
  readonly path: string
  /** The functions, classes and values that it exports. */
  readonly exports: readonly string[]
}

const FOLDER = '/docs/api/'

/** Tells whether a page is one of the API reference. */
export const isApi = (page: string): boolean => /^(?:docs|apps\/site)\/api\//.test(page)

/** Reads the list of entries that `scripts/api-reference.ts` has written. */
export function readApi(list: string): ApiEntry[] {
  return Array.from(list.matchAll(/^- \[`(.+?)`\]\((.+?)\)(.*)$/gm), ([, name, page, names]) => ({
    name: name ?? '',
    path: FOLDER + page,
    exports: Array.from(names?.matchAll(/`(\w+)`/g) ?? [], ([, exported = '']) => exported),
  })).toSorted((one, other) => one.name.localeCompare(other.name))
}

const packageOf = (entry: ApiEntry): string => entry.name.split('/').slice(0, 2).join('/')

interface Group {
  readonly text: string
  readonly collapsed?: boolean
  readonly link?: string
  readonly items: { readonly text: string; readonly link: string }[]
}

/** Returns the menu of the API reference: a group for each package. */
export function apiSidebar(entries: readonly ApiEntry[]): Group[] {
  const groups = Map.groupBy(entries, packageOf)
  return Array.from(groups, ([text, ofPackage]) => ({
    text,
    link: ofPackage[0]?.path.replace(/\.md$/, '') ?? '',
    collapsed: true,
    items: ofPackage.map(({ name, path }) => ({ text: name, link: path.replace(/\.md$/, '') })),
  }))
}

/** Links the names of entries and functions to their pages, the first time that a page has them. */
export function linkNames(md: MarkdownRenderer, entries: readonly ApiEntry[]): void {
  const paths = pathsOf(entries)
  md.core.ruler.push('names', ({ tokens, env, Token }) => {
    if (env.plain || isApi(pageOf(env))) return
    const linked = new Set<string>()
    for (const [at, { type, children }] of tokens.entries()) {
      if (type !== 'inline' || tokens[at - 1]?.type === 'heading_open') continue
      let inLink = false
      tokens[at]!.children = (children ?? []).flatMap((token) => {
        if (token.type.startsWith('link_')) inLink = token.type === 'link_open'
        const path = token.type === 'code_inline' ? paths.get(token.content) : undefined
        if (!path || inLink || linked.has(path)) return [token]
        linked.add(path)
        const open = new Token('link_open', 'a', 1)
        open.attrSet('href', path)
        return [open, token, new Token('link_close', 'a', -1)]
      })
    }
  })
}

/** A name that two entries have leads nowhere, as does one that may be a common word. */
function pathsOf(entries: readonly ApiEntry[]): Map<string, string> {
  const owners = Map.groupBy(
    entries.flatMap((entry) => entry.exports.map((name) => ({ name, path: entry.path }))),
    ({ name }) => name,
  )
  const paths = new Map(entries.map(({ name, path }) => [name, path]))
  for (const [name, [owner, ...others]] of owners) {
    if (!owner || others.length > 0) continue
    const path = `${owner.path}#${name.toLowerCase()}`
    paths.set(`${name}()`, path)
    if (/[a-z][A-Z]/.test(name)) paths.set(name, path)
  }
  return paths
}

/** Returns the entries of a package as a section for the end of its page. */
export function entriesOf(page: string, entries: readonly ApiEntry[]): string {
  const folder = /^packages\/([^/]+)\/(?:README|index)\.md$/.exec(page)?.[1]
  const lines = entries
    .filter((entry) => packageOf(entry) === `@sluice/${folder}`)
    .map(({ name, path }) => `- [\`${name}\`](${path})`)
  return lines.length > 0 ? `\n\n## API reference\n\n${lines.join('\n')}\n` : ''
}
