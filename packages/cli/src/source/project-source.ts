/* The source files of a project. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { parseModule, type SourceModule } from './module.ts'

/** More files are no project, but a folder of projects: nothing is said of them. */
const MAX_FILES = 5_000

/** Larger files are built ones, and are left out. */
const MAX_CHARACTERS = 500_000

/** Dependencies, what tools have built, and tests. Folders that begin with a dot are left out, too. */
const LEFT_OUT = /^(?:node_modules|dist|build|out|coverage|vendor|tests?|__tests__|e2e)$|^\./

const SOURCE = /(?<!\.(?:d|test|spec))\.[cm]?[jt]sx?$/

/** The source files of a project, by their paths from its folder, with slashes. */
export interface ProjectSource {
  readonly folder: string
  readonly texts: ReadonlyMap<string, string>
  /** The files that could not be read or parsed so far. */
  readonly unread: Set<string>
  /** Returns a file as a syntax tree; `undefined` if there is none or it does not parse. */
  module(path: string): SourceModule | undefined
}

/** Reads the source files of a folder. Empty if it is too large to be one project. */
export function readProject(folder: string): ProjectSource {
  const texts = new Map<string, string>()
  const unread = new Set<string>()
  const read = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
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
  if (texts.size > MAX_FILES) texts.clear()
  const modules = new Map<string, SourceModule | undefined>()
  const module = (path: string): SourceModule | undefined => {
    const text = texts.get(path)
    if (text === undefined || modules.has(path)) return modules.get(path)
    const parsed = parseModule(path, text)
    modules.set(path, parsed)
    if (!parsed) unread.add(path)
    return parsed
  }
  return { folder, texts, unread, module }
}

/** Returns the text of a file; `undefined` if it cannot be read, such as a dangling link. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const ENDINGS = ['', '.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs'].flatMap((ending) => [
  ending,
  `/index${ending}`,
])

/** Folders that frameworks give a short name: `@/` and `~/` are the root or `src`, and `$lib/` is SvelteKit's. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  '@/': ['', 'src'],
  '~/': ['', 'src'],
  '$lib/': ['src/lib'],
}

/**
 * Finds the project's own file that an import names, by a relative path or an alias. Returns `undefined` for a package,
 * and `null` for a file or an alias that is not known.
 */
export function resolveImport(
  { texts }: ProjectSource,
  importer: string,
  from: string,
): string | null | undefined {
  const alias = Object.keys(ALIASES).find((name) => from.startsWith(name))
  const isRelative = /^\.\.?(?:\/|$)/.test(from)
  if (alias === undefined && !isRelative) return /^[#$]/.test(from) ? null : undefined
  const bases =
    alias === undefined
      ? [posix.join(dirname(importer), from)]
      : (ALIASES[alias] ?? []).map((folder) => posix.join(folder, from.slice(alias.length)))
  const found = bases
    // In TypeScript, `./x.js` may stand for `./x.ts`.
    .flatMap((base) => [base, base.replace(/\.[cm]?jsx?$/, '')])
    .flatMap((base) => ENDINGS.map((ending) => base + ending))
    .find((path) => texts.has(path))
  return found ?? null
}

/**
 * Returns true if a file, or one of the project's own files that it imports, imports a package of Sluice. Also if it has
 * an import that cannot be followed: it may lead to one.
 */
export function mayUseSluice(
  source: ProjectSource,
  path: string,
  visited: Set<string> = new Set(),
): boolean {
  if (visited.has(path)) return false
  visited.add(path)
  const module = source.module(path)
  if (!module) return true
  return module.sources.some((from) => {
    if (from.startsWith('@sluice/')) return true
    const target = resolveImport(source, path, from)
    if (target === undefined) return false
    return target === null ? !isAsset(from) : mayUseSluice(source, target, visited)
  })
}

/** Files that are no code, and modules that SvelteKit generates. */
const isAsset = (from: string): boolean =>
  /\.(?:css|scss|json|svg|png|wasm|txt|md)(?:\?|$)|^\$(?:env|app|types)|^\.\/\$types/.test(from)
