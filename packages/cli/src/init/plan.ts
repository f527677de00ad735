/* The files and changes that `sluice init` would write into a project. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { refuse } from '../errors.ts'
import { exampleText, LOCAL_STORE, madeOf, manifestText, read } from './made.ts'
import { nextSteps } from './next-steps.ts'

export interface Change {
  readonly path: string
  readonly kind:
    | 'create'
    /** Lines at the end of a file. */
    | 'append'
    /** The file exists: it is left as it is, and the user adds what it lacks. */
    | 'keep'
  readonly text: string
  /** True if only the owner may read the file. */
  readonly isSecret?: boolean
}

export interface Plan {
  readonly framework: string
  /** The frameworks of the project that were not taken. */
  readonly others: readonly string[]
  readonly changes: readonly Change[]
  /** Commands to run afterwards. */
  readonly next: readonly string[]
}

/**
 * Plans the files of a framework.
 *
 * @param framework The name of its page. @default the one that the package.json names
 * @throws CommandError When it is not known, or there is none.
 */
export function planOf(folder: string, framework: string | undefined): Plan {
  const made = madeOf(folder, framework)
  const { template, others, prefix, secrets, needsStore, manifest } = made
  if (template.name === 'sveltekit' && !manifest)
    refuse('create an app first: npx sv create. Then run sluice init in its folder')
  const files = made.files.flatMap(([path, text]) => fileChange(folder, path, text))
  const ownServer = files.find(({ path, kind }) => kind === 'keep' && SERVERS.includes(path))?.path
  const isModule = manifest === undefined || manifest.type === 'module'
  const known = knownVariables(
    folder,
    secrets === '.env' ? (VARIABLE_FILES[template.name] ?? [secrets]) : [secrets],
  )
  const store = needsStore ? known.get('UPSTASH_REDIS_REST_URL') : undefined
  const needsManifest = manifest === undefined && template.isModule
  return {
    framework: template.name,
    others,
    changes: [
      // Before the secret that it keeps out of the repository.
      ...lines(folder, '.gitignore', [secrets, ...unignored(folder)]),
      ...(needsManifest ? fileChange(folder, 'package.json', manifestText(folder)) : []),
      ...files,
      ...variables(folder, secrets, known, needsStore),
    ],
    next: nextSteps(template, {
      isNew: manifest === undefined,
      isModule,
      ownServer,
      prefix,
      needsStore,
      store,
    }),
  }
}

/** Returns the line that keeps the example of variables in the repository, if it ignores all files of that name. */
function unignored(folder: string): readonly string[] {
  const ignored = existsSync(join(folder, '.gitignore')) ? read(folder, '.gitignore') : ''
  return /^\/?\.env\.?\*/m.test(ignored) ? ['!.env.example'] : []
}

const SERVERS = ['server', 'index', 'app'].flatMap((name) => [
  `${name}.ts`,
  `src/${name}.ts`,
  `${name}.js`,
  `src/${name}.js`,
])
const WORKERS = ['src/index.ts', 'src/worker.ts', 'worker.ts', 'src/index.js']

/** Other names of a file: a project has one of them. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  'server.ts': SERVERS,
  'src/server.ts': SERVERS,
  'worker.ts': WORKERS,
  'src/worker.ts': WORKERS,
  'proxy.ts': ['proxy.js', 'middleware.ts', 'middleware.js'],
  'middleware.ts': ['middleware.js', 'proxy.ts', 'proxy.js'],
  'src/proxy.ts': ['src/proxy.js', 'src/middleware.ts', 'src/middleware.js'],
  'src/hooks.server.ts': ['src/hooks.server.js'],
  'src/middleware.ts': ['src/middleware.js', 'src/proxy.ts', 'src/proxy.js'],
  'astro.config.mjs': ['astro.config.ts', 'astro.config.js', 'astro.config.mts'],
  'wrangler.jsonc': ['wrangler.json', 'wrangler.toml'],
}

/** Returns the change that creates a file, or leaves one that exists as it is: none if it has this text. */
function fileChange(folder: string, path: string, text: string): Change[] {
  const found = [path, ...(ALSO[path] ?? [])].find((name) => existsSync(join(folder, name)))
  if (found === undefined) return [{ path, kind: 'create', text }]
  const lacking = lackingLines(read(folder, found), text)
  return lacking === '' ? [] : [{ path: found, kind: 'keep', text: lacking }]
}

function lackingLines(file: string, text: string): string {
  const known = new Set(file.split(/\r?\n/).map((line) => line.trim()))
  return text
    .split('\n')
    .filter((line) => !known.has(line.trim()))
    .join('\n')
}

/** The files of variables that a framework reads by itself, in the order of precedence. */
const VARIABLE_FILES: Readonly<Record<string, readonly string[]>> = {
  nextjs: ['.env.local', '.env'],
  sveltekit: ['.env.local', '.env'],
}

/** Returns the file of each variable that is set. */
function knownVariables(folder: string, files: readonly string[]): Map<string, string> {
  const known = new Map<string, string>()
  for (const file of files.filter((path) => existsSync(join(folder, path)))) {
    for (const [name, value] of Object.entries(parseEnv(read(folder, file)))) {
      if (value !== '' && !known.has(name)) known.set(name, file)
    }
  }
  return known
}

/** Returns the changes that give a project its variables: with values for development, and an example without. */
function variables(
  folder: string,
  path: string,
  known: ReadonlyMap<string, string>,
  needsStore: boolean,
): Change[] {
  const values = { ...(needsStore && LOCAL_STORE), JWT_SECRET: randomBytes(32).toString('hex') }
  const missing = Object.entries(values).filter(([name]) => !known.has(name))
  const [change] = lines(
    folder,
    path,
    missing.map((pair) => pair.join('=')),
  )
  return [
    ...(change ? [{ ...change, isSecret: true }] : []),
    ...fileChange(folder, '.env.example', exampleText(needsStore)),
  ]
}

/** Returns the change that adds lines to a file, if it lacks any of them. */
function lines(folder: string, path: string, added: readonly string[]): Change[] {
  const file = join(folder, path)
  const text = existsSync(file) ? read(folder, path) : undefined
  const known = new Set(text?.split(/\r?\n/))
  const missing = added.filter((line) => !known.has(line))
  if (missing.length === 0) return []
  const begin = text === undefined || text === '' || text.endsWith('\n') ? '' : '\n'
  const kind = text === undefined ? 'create' : 'append'
  return [{ path, kind, text: `${begin}${missing.join('\n')}\n` }]
}
