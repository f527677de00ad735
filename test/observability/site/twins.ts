import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withoutCheckout } from '../../../apps/site/src/markdown.ts'
import { root, type BuiltSite } from './built.ts'

/** The Markdown of the pages, as agents read it. */
export function describeTwins(site: () => BuiltSite): void {
  const read = (path: string): string => readFileSync(join(site().folder, path), 'utf8')

  describe('the Markdown beside the pages', () => {
    it('is there for each page of the docs and each README, which has its own name, too', () => {
      const sources = globSync(['*.md', 'docs/**/*.md', '{apps,packages}/*/README.md'], {
        cwd: root,
        exclude: (path) => path.includes('node_modules') || path === 'docs/api',
      })
      expect(sources.length).toBeGreaterThan(80)
      for (const source of sources) {
        const twin = source.replace(/README\.md$/, 'index.md')
        const text = withoutCheckout(readFileSync(join(root, source), 'utf8'))
        expect(site().pages).toContain(twin.replace(/md$/, 'html'))
        expect([read(twin), read(source)]).toEqual([text, text])
      }
    })

    it('has only links and pictures that lead to a file, and to a heading of it', () => {
      const twins = globSync(['**/*.md', 'llms.txt'], { cwd: site().folder })
      const links = twins.flatMap((twin) => linksIn(read(twin)).map((link) => ({ twin, link })))
      expect(links.length).toBeGreaterThan(1_000)
      const anchors = new Map<string, Set<string>>()
      const isDead = (twin: string, link: string): boolean => {
        const [path = '', anchor] = link.split('#')
        const file = path === '' ? twin : posix.join(dirname(twin), path)
        const exists = statSync(join(site().folder, file), { throwIfNoEntry: false })?.isFile()
        if (!exists || anchor === undefined) return !exists
        const known = anchors.get(file) ?? anchorsIn(read(file))
        anchors.set(file, known)
        return !known.has(decodeURIComponent(anchor))
      }
      expect(links.filter(({ twin, link }) => isDead(twin, link))).toEqual([])
    })
  })
}

const withoutCode = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, '')

/** The links of a text to others of the site. */
const linksIn = (text: string): string[] =>
  Array.from(
    withoutCode(text).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g),
    ([, markdown, html]) => markdown ?? html ?? '',
  ).filter((link) => !/^[a-z]+:/.test(link))

/** The anchors that GitHub gives to the headings of a text. */
function anchorsIn(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
    let name = anchor
    for (let repeated = 1; anchors.has(name); repeated += 1) name = `${anchor}-${repeated}`
    anchors.add(name)
  }
  return anchors
}
