import { posix } from 'node:path'

interface Item {
  readonly text: string
  readonly link: string
}

interface Section {
  readonly text: string
  readonly items: Item[]
}

/** Returns the sections of the index of the docs, each with its pages. */
export function sidebarOf(index: string): Section[] {
  const seen = new Set<string>()
  const sections = index
    .split(/^## /m)
    .slice(1)
    .map((text): Section => {
      const [title = '', ...lines] = text.split('\n')
      // The first link of an item or a row is its page.
      const links = lines.map((line) => /^(?:- |\| )\[(.+?)\]\(([^)#]+)\)/.exec(line))
      const items = links.flatMap((link): Item[] => {
        const [, name = '', path = ''] = link ?? []
        if (!path.endsWith('.md') || seen.has(path)) return []
        seen.add(path)
        return [{ text: name.replaceAll('`', ''), link: linkTo(path) }]
      })
      return { text: title, items }
    })
  return sections.filter(({ items }) => items.length > 0)
}

/** Returns the address of a page of the index. */
const linkTo = (path: string): string => posix.join('/docs', path).replace(/(README)?\.md$/, '')
