// Counts the words of the docs, code included, and fails when they have grown beyond the bars. Run it by
// `npm run docs:words`.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The words that all pages may have together. */
export const MAX_TOTAL = 75_000
/** The words that one page may have. */
export const MAX_PAGE = 2_500
/** Files that nobody reads as a page: changelogs, templates, and fixtures of tests. */
const NO_PAGE = /(?:^|\/)CHANGELOG\.md$|^\.(?:github|changeset)\/|^test\/docs\//

/** Returns the words of each page, the longest first: as `wc -w` counts them. */
export function countWords(): Map<string, number> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md']
  const paths = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')
  const counts = paths
    .filter((path) => path && !NO_PAGE.test(path) && existsSync(root + path))
    .map((path) => [path, wordsIn(readFileSync(root + path, 'utf8'))] as const)
  return new Map(counts.toSorted(([, one], [, other]) => other - one))
}

export const wordsIn = (text: string): number => text.match(/\S+/g)?.length ?? 0

/** Returns a sentence for each bar that the pages exceed. */
export function findTooLong(counts: ReadonlyMap<string, number>): string[] {
  const pages = [...counts]
    .filter(([, words]) => words > MAX_PAGE)
    .map(
      ([page, words]) =>
        `${page} has ${words} words, ${MAX_PAGE} are allowed: shorten it, or give a part a page of its own.`,
    )
  const total = totalOf(counts)
  return total > MAX_TOTAL
    ? [...pages, `The docs have ${total} words, ${MAX_TOTAL} are allowed: shorten a page.`]
    : pages
}

export const totalOf = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((total, words) => total + words, 0)

if (import.meta.main) {
  const counts = countWords()
  for (const [page, words] of counts) console.log(`${String(words).padStart(7)} ${page}`)
  console.log(`${String(totalOf(counts)).padStart(7)} words on ${counts.size} pages`)
  const tooLong = findTooLong(counts)
  for (const sentence of tooLong) console.error(sentence)
  if (tooLong.length > 0) process.exitCode = 1
}
