/* The files that `sluice init --remove` takes back. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  exampleText,
  frameworksFor,
  LOCAL_STORE,
  madeOf,
  manifestText,
  read,
  type Made,
} from './made.ts'

export interface Removal {
  readonly path: string
  readonly kind:
    | 'delete'
    /** Lines of it go: `text` is the rest. */
    | 'cut'
    /** It has another text than it was made with. */
    | 'keep'
    /** Secrets are still there that it keeps out of the repository. */
    | 'guard'
  readonly text: string
}

/** The files that are taken back, and the commands that are left to do by hand. */
export interface RemovalPlan {
  readonly framework: string
  readonly removals: readonly Removal[]
  readonly next: readonly string[]
}

/** A secret as `init` makes it, and the store of `sluice local --token development`. */
const MADE_LINES = [
  /^JWT_SECRET=[0-9a-f]{64}$/,
  ...Object.entries(LOCAL_STORE).map(([name, value]) => new RegExp(`^${name}=${value}$`)),
]

/**
 * Plans what is taken back: files whose text is the one that was made, and the lines that were added to others.
 *
 * @param framework The name of its page. @default the one whose files are there, or that the package.json names
 * @throws CommandError When the framework is not known, or a file cannot be read.
 */
export function removalOf(folder: string, framework: string | undefined): RemovalPlan {
  const made = madeOf(folder, framework ?? frameworkThere(folder))
  const { template, secrets, needsStore } = made
  const removals = [
    ...filesThere(folder, made),
    ...wholeFile(folder, '.env.example', exampleText(needsStore)),
    ...(template.isModule ? wholeFile(folder, 'package.json', manifestText(folder)) : []),
  ]
  const variables = cut(folder, secrets, (line) => MADE_LINES.some((pattern) => pattern.test(line)))
  // As long as there are secrets, they are ignored.
  const isGone = !existsSync(join(folder, secrets)) || variables[0]?.kind === 'delete'
  const ignored = new Set([secrets, '!.env.example'])
  const ignores = cut(folder, '.gitignore', (line) => ignored.has(line))
  return {
    framework: template.name,
    removals: [
      ...removals.filter(({ path, kind }) => path !== 'package.json' || kind === 'delete'),
      ...variables,
      ...ignores.map(({ path, kind, text }) => ({ path, kind: isGone ? kind : 'guard', text })),
    ],
    next: [`npm uninstall ${ownPackages(template)}`],
  }
}

/** Returns the framework with the most files in a folder, where one at least is as it was made. */
function frameworkThere(folder: string): string | undefined {
  const [first] = frameworksFor(folder)
    .map((name) => {
      const kinds = filesThere(folder, madeOf(folder, name)).map(({ kind }) => kind)
      const unchanged = kinds.filter((kind) => kind === 'delete').length
      return { name, unchanged, there: kinds.length }
    })
    .filter(({ unchanged }) => unchanged > 0)
    .toSorted((a, b) => b.unchanged - a.unchanged || b.there - a.there)
  return first?.name
}

/** Returns the files of a framework that are there. The app may have got its `src` only after they were made. */
const filesThere = (folder: string, { files }: Made): Removal[] =>
  files.flatMap(([path, text]) =>
    [...new Set([path, path.replace(/^src\//, '')])].flatMap((each) =>
      wholeFile(folder, each, text),
    ),
  )

const ownPackages = (template: {
  readonly packages: readonly string[]
  readonly devPackages: readonly string[]
}): string =>
  [...template.packages, ...template.devPackages]
    .filter((name) => name.startsWith('@sluice/'))
    .join(' ')

function wholeFile(folder: string, path: string, text: string): Removal[] {
  if (!existsSync(join(folder, path))) return []
  return [{ path, kind: read(folder, path) === text ? 'delete' : 'keep', text }]
}

function cut(folder: string, path: string, isMade: (line: string) => boolean): Removal[] {
  if (!existsSync(join(folder, path))) return []
  const lines = read(folder, path).split('\n')
  const rest = lines.filter((line) => !isMade(line.trimEnd()))
  if (rest.length === lines.length) return []
  const text = rest.join('\n')
  return [{ path, kind: text.trim() === '' ? 'delete' : 'cut', text }]
}
