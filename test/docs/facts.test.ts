import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string): string => readFileSync(root + file, 'utf8')
const page = read('docs/facts.md')
const [facts = '', retired = ''] = page.split('## Retired')

interface Fact {
  readonly fact: string
  readonly url: string
  readonly day: string
  /** The files above its list. */
  readonly uses: readonly string[]
}

const quoted = (cell = ''): string[] =>
  Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = '']) => text)

const FACTS: Fact[] = facts.split(/^(?=`)/m).flatMap((list) => {
  const [, files = '', dayOfList = ''] = /^(`.*), (\S+):$/m.exec(list) ?? []
  const uses = quoted(files)
  return Array.from(
    list.matchAll(/^- (?:(\d\S+): )?\[(.*)\]\((\S+)\)$/gm),
    ([, day = dayOfList, fact = '', url = '']) => ({ fact, url, day, uses }),
  )
})
/** Each has the words, in backticks, and a link to the page that says otherwise. */
const RETIRED = Array.from(
  retired.matchAll(/^- \S+: (.*)\[(.*)\]\(\S+\)$/gm),
  ([, words = '', instead = '']) => ({ words: quoted(words), instead }),
)

/** Files whose sentences may rest on a fact: docs, READMEs, examples, apps and the code that is published. */
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) =>
    /^(?:README\.md|docs\/.*\.md|examples\/.*\.(?:tsx?|md)|apps\/.*\.(?:tsx?|md)|packages\/[^/]+\/(?:README\.md|src\/.*\.tsx?))$/.test(
      file,
    ),
  )
  // Prices have a page and a day in each table.
  .filter((file) => !/^docs\/facts\.md$|^packages\/ai\/src\/prices\//.test(file))

/** Addresses of no fact that may change: a front page, papers, or where an API answers. */
const isPage = (url: string): boolean => {
  const { hostname, pathname } = new URL(url)
  if (/^(?:api|your-[a-z]+)\.|^(?:doi\.org|en\.wikipedia\.org)$|\.example\b/.test(hostname))
    return false
  return !/^\/(?:(?:api\/)?v1(?:beta)?\b.*)?$/.test(pathname) && !HOME.has(url)
}
/** Front pages that are not at the root of their site. */
const HOME = new Set(['https://svelte.dev/docs/kit'])

const urlsOf = (text: string): string[] =>
  Array.from(text.matchAll(/https?:\/\/[\w.-]+\.[a-z]+\/[^\s)\]'"`>|,$]*/g), ([url]) =>
    url.replace(/[.;:]$/, ''),
  )

/** Returns the facts that were read more than half a year before a time. */
function dueFacts(nowMs: number): Fact[] {
  return FACTS.filter(({ day }) => Date.parse(day) < nowMs - 183 * 86_400_000)
}

describe('facts of the outside world', () => {
  it('have a page, the day on which it was read, and where they are used', () => {
    expect(FACTS.length).toBeGreaterThan(120)
    expect(FACTS).toHaveLength(facts.match(/^- /gm)?.length ?? 0)
    for (const { fact, url, day, uses } of FACTS) {
      const date = new Date(day).toISOString().slice(0, 10)
      expect([fact, new URL(url).protocol, date]).toEqual([fact, 'https:', day])
      expect([fact, uses.length > 0]).toEqual([fact, true])
      for (const file of uses) expect([file, existsSync(root + file)]).toEqual([file, true])
    }
    const pages = FACTS.map(({ url }) => url)
    expect(pages.filter((url, index) => pages.indexOf(url) !== index)).toEqual([])
  })

  it('are listed, if code or docs name their page', () => {
    const listed = new Set(FACTS.map(({ url }) => url.replace(/[#/]$/, '')))
    const lacking = files.flatMap((file) =>
      urlsOf(read(file))
        .filter((url) => isPage(url) && !listed.has(url.replace(/[#/]$/, '')))
        .map((url) => `${file}: ${url}`),
    )
    expect(lacking).toEqual([])
  })

  it('that are retired are said nowhere', () => {
    expect(RETIRED.length).toBeGreaterThan(5)
    expect(RETIRED).toHaveLength(retired.match(/^- /gm)?.length ?? 0)
    const words = RETIRED.flatMap((one) => one.words.map((word) => [word, one.instead] as const))
    expect(words.length).toBeGreaterThanOrEqual(RETIRED.length)
    const said = files.flatMap((file) => {
      const text = read(file)
      return words
        .filter(([word]) => text.includes(word))
        .map(([word, instead]) => `${file} says "${word}". Instead: ${instead}`)
    })
    expect(said).toEqual([])
  })

  it('are due half a year after the day on which they were read', () => {
    const newest = FACTS.map(({ day }) => day)
      .toSorted()
      .at(-1)
    expect(dueFacts(Date.parse(`${newest}T12:00:00Z`)).length).toBeLessThan(FACTS.length)
    expect(dueFacts(Date.parse('2030-01-01T00:00:00Z'))).toHaveLength(FACTS.length)
  })
})

// A test does not fail by the calendar alone. Its reader sees the facts that are due.
for (const { fact, url, day } of dueFacts(Date.now())) {
  console.warn(`Read again: ${fact}, ${url} (${day})`)
}

it.each([
  ['https://nextjs.org/docs/messages/middleware-to-proxy', true],
  ['https://api.openai.com/v1/chat/completions', false],
  ['https://openrouter.ai/api/v1', false],
  ['https://docs.x.ai/api', true],
  ['https://hono.dev/', false],
  ['https://app.example/api/ai', false],
])('%s is a page to list: %s', (url, expected) => {
  expect(isPage(url)).toBe(expected)
})
