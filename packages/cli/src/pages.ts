/* The pages of the documentation, by their names: `replay`, `recipes/api-keys`. */
import { readdirSync, readFileSync } from 'node:fs'
import { refuse } from './errors.ts'

const FOLDER = new URL('../docs/', import.meta.url)

const pageNames = (): string[] =>
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => path.replaceAll('\\', '/').replace(/\.md$/, ''))
    .toSorted()

/** Returns the names of the pages with their titles, a line each. */
export const listPages = (): string =>
  pageNames()
    .map((name) => `${name}: ${/^# (.*)$/m.exec(read(name))?.[1] ?? ''}`)
    .join('\n')

/** Returns a page. @throws CommandError When there is none of this name. */
export function readPage(name: string): string {
  if (pageNames().includes(name)) return read(name)
  return refuse(`there is no page "${name}". Without a topic, all are listed`)
}

const read = (name: string): string => readFileSync(new URL(`${name}.md`, FOLDER), 'utf8')
