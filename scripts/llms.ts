// Renews llms.txt, for agents, in the form of llmstxt.org: keeps its facts, which are written there, and lists the
// pages of docs/README.md. Run it by `npm run docs:llms`.
import { readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'

const root = new URL('..', import.meta.url)
const read = (page: string): string => readFileSync(new URL(page, root), 'utf8')

/** An entry of the index. */
const LINE = /^- \[[^\]]+\]\([^)]+\): .+$/
/** An agent may leave this section out: llmstxt.org gives such a section the name "Optional". */
const OPTIONAL = 'Why'

/** Returns the text of llms.txt. @throws Error When a line of the index has another form. */
export function makeLlms(): string {
  const [facts = ''] = read('llms.txt').split('\n\n## ')
  const sections = read('docs/README.md')
    .trim()
    .split(/\n+## /)
    .slice(1)
    .map(makeSection)
  return [facts, ...sections].join('\n\n') + '\n'
}

function makeSection(section: string): string {
  const [title = '', ...lines] = section.split('\n')
  const entries = lines.filter((line) => line.startsWith('- ')).map(makeEntry)
  return `## ${title === OPTIONAL ? 'Optional' : title}\n\n${entries.join('\n')}`
}

function makeEntry(line: string): string {
  if (!LINE.test(line)) {
    throw new Error(`docs/README.md: write "${line}" as "- [title](page): description".`)
  }
  // Its links are relative to `docs`.
  return line.replaceAll(/(?<=\]\()[^)]+/g, (page) => posix.join('docs', page))
}

if (import.meta.main) writeFileSync(new URL('llms.txt', root), makeLlms())
