import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = './packages/*'

/** A path from the file that has it: an import, or an address beside it. */
const PATHS = /['"`](\.\.?\/[^'"`\n]*)['"`]|\bnew URL\(\s*['"`]((?!\w+:|\/)[^'"`\n]+)['"`]/g

/** Imported by every run. */
const SET_UP = ['test/support/global-setup.ts', 'test/support/one-process.ts']

const isOutput = (path: string): boolean => /(^|\/)(node_modules|dist|\.next)$/.test(path)

/** Lists the test files that vitest finds by these names. */
export const testsNamed = (names: readonly string[]): string[] =>
  globSync('test/**/*.test.ts', { cwd: root, exclude: isOutput }).filter((file) =>
    names.some((name) => file.includes(name.replace(/:\d+$/, ''))),
  )

/** The needs of test files. */
interface Needs {
  /**
   * The packages and apps to build, as filters of turbo: each package that the files or those that they import name,
   * and each app whose folder they name. A file that reads the docs, or the repository itself, needs every package.
   */
  readonly builds: readonly string[]
  readonly cluster: boolean
}

/** Finds the needs of test files in their text. */
export function needsOf(tests: readonly string[]): Needs {
  const needed = new Set<string>()
  let cluster = false
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(join(root, file), 'utf8')
    cluster ||= text.includes("inject('clusterPorts')")
    for (const [name] of text.matchAll(/@sluice\/[a-z]+/g)) needed.add(name)
    for (const [, relativePath, address] of text.matchAll(PATHS)) {
      const path = relativePath ?? address ?? ''
      // Of a path with a value in it, the folder before that.
      const named = path.includes('${') ? path.replace(/[^/]*\$\{.*/, '') : path
      const target = relative(root, join(root, dirname(file), named)) || '.'
      const [top, workspace] = target.split(sep)
      const isFile = statSync(join(root, target), { throwIfNoEntry: false })?.isFile()
      if (isFile && /\.(tsx?|mjs)$/.test(target)) visit(target)
      else if (workspace && (top === 'apps' || top === 'packages'))
        needed.add(`@sluice/${workspace}`)
      else if (top === 'test' && existsSync(join(root, target))) filesIn(target).forEach(visit)
      else if (top !== 'test') needed.add(PACKAGES)
    }
  }
  for (const test of [...SET_UP, ...tests]) visit(test)
  const workspaces = globSync('{packages,apps}/*/package.json', { cwd: root })
  const known = new Set(workspaces.map((path) => `@sluice/${path.split(sep)[1]}`))
  const builds = [...needed].filter((name) => name === PACKAGES || known.has(name))
  return { builds: builds.toSorted(), cluster }
}

const filesIn = (folder: string): string[] =>
  globSync(`${folder}/**/*.{ts,tsx,mjs}`, { cwd: root, exclude: isOutput })
