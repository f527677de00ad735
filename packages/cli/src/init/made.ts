/* The files that `sluice init` makes for a framework, before it looks at what is there. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { refuse } from '../errors.ts'
import { FRAMEWORKS, templateOf, type Template } from './template.ts'

interface Manifest {
  readonly type?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** The address and token of a store that `sluice local --token development` starts. */
export const LOCAL_STORE = {
  UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:8079',
  UPSTASH_REDIS_REST_TOKEN: 'development',
}

export interface Made {
  readonly template: Template
  /** The other frameworks that the package.json names. */
  readonly others: readonly string[]
  readonly files: readonly (readonly [path: string, text: string])[]
  readonly prefix: string
  /** The file of variables. */
  readonly secrets: string
  readonly needsStore: boolean
  readonly manifest: Manifest | undefined
}

/**
 * Returns what is made of a framework.
 *
 * @param framework The name of its page. @default the one that the package.json names
 * @throws CommandError When it is not known, or there is none.
 */
export function madeOf(folder: string, framework: string | undefined): Made {
  const manifest = readManifest(folder)
  const [name, ...others] = framework === undefined ? detect(manifest) : [known(framework)]
  const template = templateOf(name)
  const prefix = prefixOf(folder, template)
  return {
    template,
    others,
    files: filesOf(template, manifest).map(([path, text]) =>
      path.startsWith('wrangler.')
        ? [path, text.replace('"worker.ts"', `"${prefix}worker.ts"`)]
        : [prefix + path, text],
    ),
    prefix,
    secrets: template.packages.includes('@sluice/cloudflare') ? '.dev.vars' : '.env',
    needsStore: Object.values(template.files).some((text) => text.includes('upstash(')),
    manifest,
  }
}

/** Returns the folder of a template's files: `src/` where the app has its own there. */
function prefixOf(folder: string, { name, files }: Template): string {
  if (Object.keys(files).some((path) => path.startsWith('src/'))) return ''
  // Next.js looks for its files in one place.
  return existsSync(join(folder, name === 'nextjs' ? 'src/app' : 'src')) ? 'src/' : ''
}

export const manifestText = (folder: string): string =>
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
    return refuse(`package.json does not parse: ${(error as Error).message}`)
  }
}

const NAMES = [...FRAMEWORKS.keys()].join(', ')

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
function detect(manifest: Manifest | undefined): readonly [string, ...string[]] {
  const [found, ...others] = frameworksIn(manifest)
  if (found !== undefined) return [found, ...others]
  const what = manifest
    ? 'package.json names no framework that is known here'
    : 'there is no package.json'
  return refuse(`${what}. Name one: --framework NAME, of ${NAMES}`)
}

function frameworksIn(manifest: Manifest | undefined): readonly string[] {
  const packages = { ...manifest?.dependencies, ...manifest?.devDependencies }
  return [...FRAMEWORKS].flatMap(([name, dependency]) =>
    dependency !== undefined && Object.hasOwn(packages, dependency) ? [name] : [],
  )
}

/** Returns all frameworks, those that the package.json of a folder names before the others. */
export const frameworksFor = (folder: string): readonly string[] => [
  ...new Set([...frameworksIn(readManifest(folder)), ...FRAMEWORKS.keys()]),
]

const known = (framework: string): string =>
  FRAMEWORKS.has(framework) ? framework : refuse(`--framework ${framework} must be one of ${NAMES}`)

export const exampleText = (needsStore: boolean): string =>
  [...(needsStore ? Object.keys(LOCAL_STORE) : []), 'JWT_SECRET']
    .map((name) => `${name}=\n`)
    .join('')

export function read(folder: string, path: string): string {
  try {
    return readFileSync(join(folder, path), 'utf8')
  } catch (error) {
    return refuse(`${path} cannot be read: ${(error as Error).message}`)
  }
}
