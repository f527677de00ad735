import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = globSync('docs/**/*.md', { cwd: root })
const others = globSync(['*.md', 'llms.txt', '{apps,packages}/*/README.md', 'test/**/README.md'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
})
const read = (page: string): string => readFileSync(join(root, page), 'utf8')

describe('the links of the docs and READMEs', () => {
  it('lead to files and headings that exist', () => {
    const links = [...docs, ...others].flatMap((page) =>
      linksOf(page).map((link) => ({ page, link })),
    )
    expect(links.length).toBeGreaterThan(150)
    expect(links.filter(({ page, link }) => !leads(page, link))).toEqual([])
  })
})

describe('the index of the docs', () => {
  it('lists every page', () => {
    const links = linksOf('docs/README.md').map((link) => relative(root, target('docs', link)))
    const listed = new Set(['docs/README.md', ...links.filter((path) => path.startsWith('docs/'))])
    expect(listed).toEqual(new Set(docs))
  })
})

/** The relative links and pictures of a page, also those of HTML. */
function linksOf(page: string): string[] {
  const text = withoutCode(read(page))
  const links = text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)
  return Array.from(links, ([, markdown, html]) => markdown ?? html ?? '').filter(
    (link) => !/^[a-z]+:/.test(link),
  )
}

function target(folder: string, link: string): string {
  return join(root, folder, link.replace(/#.*/, ''))
}

function leads(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? join(root, page) : target(dirname(page), link)
  if (!existsSync(file)) return false
  return anchor === undefined || anchorsOf(readFileSync(file, 'utf8')).has(anchor)
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
    let repeated = 0
    let name = anchor
    while (anchors.has(name)) name = `${anchor}-${(repeated += 1)}`
    anchors.add(name)
  }
  return anchors
}

const withoutCode = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, '')
