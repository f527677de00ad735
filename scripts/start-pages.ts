// Fills the pages to start with from the apps in examples/: a block that begins with the name of a file of the app of
// its page shows that file. Run it by `npm run docs:start`.
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('..', import.meta.url)
const has = (path: string): boolean => existsSync(new URL(path, root))
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** A block that begins with a comment with the name of its file. */
const BLOCK = /(```\w+\n(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n)([^]*?)```/g
/** The example whose limits and tenants are shown by the page that all share. The others have copies. */
const SHARED = 'hono'

const pathOf = (name: string): string => {
  const path = `docs/start/${name}.md`
  return has(path) ? path : `docs/${name}.md`
}

/** The names of the examples. Each has a page of its name. */
export const EXAMPLES: readonly string[] = readdirSync(new URL('examples', root), {
  withFileTypes: true,
})
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** The names of the pages to start with. */
export const START_PAGES: readonly string[] = globSync('docs/start/*.md', { cwd: root.pathname })
  .map((path) => /([\w-]+)\.md$/.exec(path)?.[1] ?? '')
  .filter((name) => name !== 'README')

/** A page to start with, and after it the calls that it shares with others, if it has none of its own. */
export function startPage(name: string): string {
  const page = read(pathOf(name))
  const [, call = ''] = read('docs/start/README.md').split(/^## (?=Call it|Check types)/m)
  return page.includes('README.md#call-it') ? `${page}\n## ${call}` : page
}

/** The files that begin with a comment with their name: those of a page, and the shared ones that it has not. */
export function filesOf(page: string): Map<string, string> {
  const blocks = `${read('docs/start/README.md')}\n${page}`.matchAll(BLOCK)
  return new Map(Array.from(blocks, ([, , file = '', code = '']) => [file, code]))
}

/** Returns the paths of all that is made from the examples, with the texts that they should have. */
export function madeFromExamples(): Map<string, string> {
  const made = new Map([['docs/start/README.md', filled('docs/start/README.md', SHARED)]])
  for (const name of EXAMPLES) {
    const page = filled(pathOf(name), name)
    made.set(pathOf(name), page)
    for (const file of ['limits.ts', 'auth.ts']) {
      const own = ['', 'src/', 'app/'].map((folder) => folder + file)
      const path = own.map((each) => `examples/${name}/${each}`).find(has)
      const isShown = own.some((each) => page.includes(`\n// ${each}\n`))
      if (path && !isShown) made.set(path, read(`examples/${SHARED}/${file}`))
    }
  }
  return made
}

/** Returns a page with the files of an example. @throws Error When it shows none of them. */
function filled(page: string, example: string): string {
  let shown = 0
  const text = read(page).replaceAll(BLOCK, (block, head: string, file: string) => {
    const path = `examples/${example}/${file}`
    if (!has(path)) return block
    shown += 1
    return `${head}${read(path)}\`\`\``
  })
  if (shown > 0) return text
  throw new Error(`${page} has no block that begins with the name of a file of examples/${example}`)
}

if (import.meta.main) {
  for (const [path, text] of madeFromExamples()) writeFileSync(new URL(path, root), text)
}
