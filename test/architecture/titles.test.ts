import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

/** The titles of tests that are not filled in by a table. */
const titlesIn = (code: string): string[] =>
  Array.from(code.matchAll(/\bit\(\s*(['"`])((?:(?!\1|[%$]).)+)\1,/g), ([, , title = '']) => title)

/** Too few to name a subject and say something of it. */
const isNoClaim = (title: string): boolean => title.split(' ').length < 3

it('the title of a test has three words or more', () => {
  const files = globSync('test/**/*.ts', {
    cwd: root,
    exclude: (path) => basename(path) === 'node_modules',
  })
  const titles = files.flatMap((file) =>
    titlesIn(readFileSync(`${root}/${file}`, 'utf8')).map((title) => ({ file, title })),
  )
  expect(titles.length).toBeGreaterThan(2_500)
  expect(titles.filter(({ title }) => isNoClaim(title))).toEqual([])
})

it('a title of two words is found, however it is written', () => {
  const code = ["'no subject'", '"works"', '\n  `both deny`'].map((title) => `it(${title}, () => {`)
  expect(titlesIn(code.join('\n')).filter(isNoClaim)).toEqual(['no subject', 'works', 'both deny'])
  expect(titlesIn("it('denies the 21st request', () =>").filter(isNoClaim)).toEqual([])
})
