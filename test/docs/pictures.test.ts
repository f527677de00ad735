import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { drawPictures } from '../../scripts/pictures/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'docs/pictures')
const pictures = await drawPictures()

describe('the pictures of the docs', () => {
  it('are what `npm run docs:pictures` draws', () => {
    expect(readdirSync(folder).toSorted()).toEqual([...pictures.keys()].toSorted())
    for (const [name, picture] of pictures) {
      expect(readFileSync(join(folder, name), 'utf8')).toBe(picture)
    }
  })

  it('are each on a page, with what it shows in words', () => {
    const pages = globSync('docs/**/*.md', { cwd: root }).map((page) =>
      readFileSync(join(root, page), 'utf8'),
    )
    const shown = pages.flatMap((page) =>
      Array.from(
        page.matchAll(/!\[[^\]]{20,}\]\((?:\.\.\/)*pictures\/([\w-]+\.svg)\)/g),
        ([, name]) => name,
      ),
    )
    expect(new Set(shown)).toEqual(new Set(pictures.keys()))
  })
})
