/* What `sluice init` would write into a project. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseEnv } from 'node:util'
import { CommandError } from '../errors.ts'
import { nextSteps } from './next-steps.ts'
import type { Template } from './template.ts'
import { TEMPLATES } from './templates.ts'

/** A change to one file. */
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

/** The changes to a project, and what is left to do by hand. */
export interface Plan {
  readonly framework: string
  /** The frameworks of the project that were not taken. */
  readonly others: readonly string[]
  readonly changes: readonly Change[]
  /** Commands to run afterwards. */
  readonly next: readonly string[]
}

/** The address and token of a store that `sluice local --token development` starts. */
const LOCAL_STORE = {
  UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:8079',
  UPSTASH_REDIS_REST_TOKEN: 'development',
}

interface Manifest {
  readonly type?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/**
 * Plans the files of a framework.
 *
 * @param framework The name of its page. @default the one that the package.json names
 * @throws CommandError When it is not known, or there is none.
 */
export function planOf(folder: string, framework: string | undefined): Plan {
  const manifest = readManifest(folder)
  const [template, ...others] = framework === undefined ? detect(manifest) : [named(framework)]
  if (template.name === 'sveltekit' && !manifest) {
    throw new CommandError('create an app first: npx sv create. Then run sluice init in its folder')
  }
  const isWorker = template.packages.includes('@sluice/cloudflare')
  const needsStore = Object.values(template.files).some((text) => text.includes('upstash('))
  const secrets = isWorker ? '.dev.vars' : '.env'
  // Next.js looks for its files in one place.
  const prefix = template.name === 'nextjs' && existsSync(join(folder, 'src/app')) ? 'src/' : ''
  const files = filesOf(template, manifest).flatMap(([path, text]) =>
    fileChange(folder, prefix + path, text),
  )
  const ownServer = files.find(({ path, kind }) => kind === 'keep' && isServer(path))?.path
  const isModule = manifest === undefined || manifest.type === 'module'
  const known = knownVariables(
    folder,
    isWorker ? [secrets] : (VARIABLE_FILES[template.name] ?? ['.env']),
  )
  const store = needsStore ? known.get('UPSTASH_REDIS_REST_URL') : undefined
  const needsManifest = manifest === undefined && template.isModule
  return {
    framework: template.name,
    others: others.map(({ name }) => name),
    changes: [
      // Before the secret that it keeps out of the repository.
      ...lines(folder, '.gitignore', [secrets]),
      ...(needsManifest ? fileChange(folder, 'package.json', manifestText(folder)) : []),
      ...files,
      ...variables(folder, secrets, known, needsStore),
    ],
    next: nextSteps(template, {
      isNew: manifest === undefined,
      isModule,
      ownServer,
      needsStore,
      store,
    }),
  }
}

const manifestText = (folder: string): string =>
  `${JSON.stringify(
    {
      name: basename(folder)
        .toLowerCase()
        .replaceAll(/[^\w-]/g, '-'),
      private: true,
      type: 'module',
    },
    null,
    2,
  )}\n`

function readManifest(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return undefined
  try {
    // Some editors begin a file with a byte order mark, which npm accepts.
    return JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) as Manifest
  } catch (error) {
    throw new CommandError(`package.json does not parse: ${(error as Error).message}`)
  }
}

const NAMES = TEMPLATES.map(({ name }) => name).join(', ')

/** Returns the files of a framework: before Next.js 16, `proxy.ts` is `middleware.ts`. */
function filesOf(
  { name, files }: Template,
  manifest: Manifest | undefined,
): (readonly [path: string, text: string])[] {
  const entries = Object.entries(files)
  const range = { ...manifest?.devDependencies, ...manifest?.dependencies }['next'] ?? ''
  const major = /^\D*(\d+)/.exec(range)?.[1]
  if (name !== 'nextjs' || major === undefined || Number(major) >= 16) return entries
  return entries.map(([path, text]) =>
    path === 'proxy.ts'
      ? ['middleware.ts', text.replace('export const proxy =', 'export const middleware =')]
      : [path, text],
  )
}

/** Returns the frameworks that a package.json names: the first is the one to take. */
function detect(manifest: Manifest | undefined): readonly [Template, ...Template[]] {
  const packages = { ...manifest?.dependencies, ...manifest?.devDependencies }
  const [found, ...others] = TEMPLATES.filter(
    ({ dependency }) => dependency !== undefined && Object.hasOwn(packages, dependency),
  )
  if (found) return [found, ...others]
  const what = manifest
    ? 'package.json names no framework that is known here'
    : 'there is no package.json'
  throw new CommandError(`${what}. Name one: --framework NAME, of ${NAMES}`)
}

function named(framework: string): Template {
  const found = TEMPLATES.find(({ name }) => name === framework)
  if (found) return found
  throw new CommandError(`--framework ${framework} must be one of ${NAMES}`)
}

/** Other names of a file: a project has one of them. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  'server.ts': [
    'server.js',
    'src/server.ts',
    'index.ts',
    'src/index.ts',
    'app.ts',
    'src/app.ts',
    'index.js',
    'app.js',
  ],
  'worker.ts': ['src/index.ts', 'src/worker.ts', 'src/index.js'],
  'proxy.ts': ['proxy.js', 'middleware.ts', 'middleware.js'],
  'middleware.ts': ['middleware.js', 'proxy.ts', 'proxy.js'],
  'src/proxy.ts': ['src/proxy.js', 'src/middleware.ts', 'src/middleware.js'],
  'src/hooks.server.ts': ['src/hooks.server.js'],
  'src/middleware.ts': ['src/middleware.js', 'src/proxy.ts', 'src/proxy.js'],
  'astro.config.mjs': ['astro.config.ts', 'astro.config.js', 'astro.config.mts'],
  'wrangler.jsonc': ['wrangler.json', 'wrangler.toml'],
}

function read(folder: string, path: string): string {
  try {
    return readFileSync(join(folder, path), 'utf8')
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${(error as Error).message}`)
  }
}

/** True of a file that starts an app: the one that is made, or one of another name. */
const isServer = (path: string): boolean =>
  path === 'server.ts' || ALSO['server.ts']?.includes(path) === true

/** Returns the change that creates a file, or leaves one that exists as it is: none if it has this text. */
function fileChange(folder: string, path: string, text: string): Change[] {
  const found = [path, ...(ALSO[path] ?? [])].find((name) => existsSync(join(folder, name)))
  if (found === undefined) return [{ path, kind: 'create', text }]
  if (read(folder, found) === text) return []
  return [{ path: found, kind: 'keep', text }]
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
  const names = Object.keys(values)
  const missing = Object.entries(values).filter(([name]) => !known.has(name))
  const [change] = lines(
    folder,
    path,
    missing.map((pair) => pair.join('=')),
  )
  return [
    ...(change ? [{ ...change, isSecret: true }] : []),
    ...fileChange(folder, '.env.example', names.map((name) => `${name}=\n`).join('')),
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
