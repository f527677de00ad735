/* The source files of a project. */
import { readdirSync, readFileSync, statSync, type Dirent } from 'node:fs'
import { join, posix } from 'node:path'
import { attempt } from '@sluice/core/internal/limiter'
import { parseModule, type SourceFiles, type SourceModule } from './module.ts'

/** More files are no project, but a folder of projects: nothing is said of them. */
const MAX_FILES = 5_000

/** Larger files are built ones, and are left out. */
const MAX_CHARACTERS = 500_000

/** Dependencies, what tools have built, and tests. Folders that begin with a dot are left out, too. */
const LEFT_OUT = /^(?:node_modules|dist|build|out|coverage|vendor|tests?|__tests__|e2e)$|^\./

const SOURCE = /(?<!\.(?:d|test|spec))\.[cm]?[jt]sx?$/

/** The source files of a project, by their paths from its folder, with slashes. */
export interface ProjectSource extends SourceFiles {
  readonly texts: ReadonlyMap<string, string>
  /** The files that could not be read or parsed so far. */
  readonly unread: Set<string>
}

/** Reads the source files of a folder. None if it is too large to be one project. */
export function readProject(folder: string): ProjectSource {
  const texts = new Map<string, string>()
  const unread = new Set<string>()
  const read = (path: string): void => {
    for (const entry of entriesOf(join(folder, path))) {
      const below = posix.join(path, entry.name)
      if (texts.size > MAX_FILES) return
      if (entry.isDirectory()) {
        if (!LEFT_OUT.test(entry.name)) read(below)
      } else if (SOURCE.test(entry.name)) {
        const text = readText(join(folder, below))
        if (text === undefined) unread.add(below)
        else if (text.length <= MAX_CHARACTERS) texts.set(below, text)
      }
    }
  }
  read('')
  if (texts.size > MAX_FILES) {
    texts.clear()
    unread.add(`this folder, which has more than ${MAX_FILES} files`)
  }
  const modules = new Map<string, SourceModule | undefined>()
  const module = (path: string): SourceModule | undefined => {
    const text = texts.get(path)
    if (text === undefined || modules.has(path)) return modules.get(path)
    try {
      modules.set(path, parseModule(source, path, text))
    } catch {
      modules.set(path, undefined)
      unread.add(path)
    }
    return modules.get(path)
  }
  const source = { folder, texts, unread, has: (path: string) => texts.has(path), module }
  return source
}

/** Returns the files whose texts may be of interest, as far as they parse. To parse every file would take long. */
export const modulesWith = (
  source: ProjectSource,
  mayMatter: (text: string) => boolean,
): SourceModule[] =>
  [...source.texts].flatMap(([path, text]) => (mayMatter(text) ? (source.module(path) ?? []) : []))

/** Lists a folder. Empty if it may not be read: it is then no folder of the app's own code. */
const entriesOf = (path: string): Dirent[] =>
  attempt(() => readdirSync(path, { withFileTypes: true }), [])

/** Returns the text of a file; `undefined` for a dangling link, or a pipe, which may never end. */
const readText = (path: string): string | undefined =>
  attempt(() => (statSync(path).isFile() ? readFileSync(path, 'utf8') : undefined), undefined)
