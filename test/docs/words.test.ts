import { expect, it } from 'vitest'
import { countWords, findTooLong, MAX_PAGE, MAX_TOTAL, wordsIn } from '../../scripts/words.ts'

it('the docs stay within their words', () => {
  expect(findTooLong(countWords())).toEqual([])
})

it('every page counts, and no changelog or fixture', () => {
  const pages = [...countWords().keys()]
  expect(pages).toEqual(
    expect.arrayContaining([
      'README.md',
      'docs/README.md',
      'docs/start/hono.md',
      'packages/core/README.md',
      'test/README.md',
    ]),
  )
  expect(pages.filter((page) => /CHANGELOG|^\.|node_modules|^test\/docs/.test(page))).toEqual([])
})

it('code and the signs of tables count as words, as for `wc -w`', () => {
  expect(wordsIn('# One\n\n| a | b |\n\n```ts\nconst two = 2\n```\n')).toBe(13)
})

it.each([
  ['a page of the greatest length is accepted', new Map([['docs/a.md', MAX_PAGE]]), []],
  [
    'a page with a word too many is named',
    new Map([['docs/a.md', MAX_PAGE + 1]]),
    [/^docs\/a\.md has 2501 /],
  ],
  [
    'too many words on many pages are counted together',
    new Map(Array.from({ length: 101 }, (_, page) => [`docs/${page}.md`, MAX_TOTAL / 100])),
    [/^The docs have \d+ words, \d+ are allowed/],
  ],
])('%s', (_, counts, sentences) => {
  expect(findTooLong(counts)).toEqual(sentences.map((one) => expect.stringMatching(one) as string))
})
