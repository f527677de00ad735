/* The targets of the imports of a project's files. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, posix, sep } from 'node:path'
import { attempt } from '@sluice/core/internal/limiter'
import { sourcesOf, type SourceModule } from './module.ts'

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
  { files, path: importer }: SourceModule,
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
    .find((path) => files.has(path))
  return found ?? null
}

/**
 * Returns true if a file, or one of the project's own files that it imports, imports a package of Sluice. Also if it has
 * an import that cannot be followed: it may lead to one.
 */
export function mayUseSluice(
  module: SourceModule | undefined,
  visited: Set<SourceModule> = new Set(),
): boolean {
  if (!module) return true
  if (visited.has(module)) return false
  visited.add(module)
  const { files } = module
  return sourcesOf(module).some((from) => {
    if (from.startsWith('@sluice/')) return true
    const target = resolveImport(module, from)
    if (target === undefined) return isOwnPackage(files.folder, from)
    return target === null ? !isAsset(from) : mayUseSluice(files.module(target), visited)
  })
}

/**
 * Returns true if an import leads to a package of the same repository, which may wrap a limiter: it is linked, or it is
 * neither installed nor named in the package.json, as an alias of the compiler.
 */
function isOwnPackage(folder: string, from: string): boolean {
  // Modules of a platform, such as `cloudflare:workers`, are no packages.
  if (isBuiltin(from) || from.includes(':')) return false
  const name = from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')
  const installed = findPackage(folder, name)
  if (installed === undefined) return !dependenciesOf(folder).has(name)
  return !realpathSync(installed).split(sep).includes('node_modules')
}

/** Returns the folder of a package that a project uses, or, by its scope, of several. */
export function findPackage(folder: string, name: string): string | undefined {
  const found = join(folder, 'node_modules', name)
  if (existsSync(found)) return found
  const parent = dirname(folder)
  return parent === folder ? undefined : findPackage(parent, name)
}

/** Returns the names of the packages that a project uses. None without a package.json that npm could read. */
export function dependenciesOf(folder: string): ReadonlySet<string> {
  const text = attempt(() => readFileSync(join(folder, 'package.json'), 'utf8'), '{}')
  const manifest: unknown = attempt(() => JSON.parse(text), {})
  const { dependencies, devDependencies } = Object(manifest) as Record<string, object | undefined>
  return new Set(Object.keys({ ...dependencies, ...devDependencies }))
}

/** Files that are no code, and modules that SvelteKit generates. */
const isAsset = (from: string): boolean =>
  /\.(?:css|scss|json|svg|png|wasm|txt|md)(?:\?|$)|^\$(?:env|app|types)|^\.\/\$types/.test(from)
