/* The files that a framework serves by their paths. */
import { dependenciesOf } from './imports.ts'
import type { SourceModule } from './module.ts'
import type { ProjectSource } from './project-source.ts'

interface Framework {
  /** The package by which it is recognised. */
  readonly dependency: string
  /** Finds the part of a file's path that is its route, in the group `route`. */
  readonly files: readonly RegExp[]
  /** The files that run before all routes. */
  readonly hook: RegExp
}

const FRAMEWORKS: readonly Framework[] = [
  {
    // https://nextjs.org/docs/app/api-reference/file-conventions/route, https://nextjs.org/docs/pages/building-your-application/routing/api-routes
    dependency: 'next',
    files: [
      /^(?:src\/)?app(?<route>\/.*)?\/route\.[jt]sx?$/,
      /^(?:src\/)?pages(?<route>\/api(?:\/.*)?)\.[jt]sx?$/,
    ],
    hook: /^(?:src\/)?(?:proxy|middleware)\.[jt]s$/,
  },
  {
    // https://svelte.dev/docs/kit/routing, https://svelte.dev/docs/kit/form-actions
    dependency: '@sveltejs/kit',
    files: [/^src\/routes(?<route>\/.*)?\/\+(?:server|page\.server)\.[jt]s$/],
    hook: /^src\/hooks\.server(?:\/index)?\.[jt]s$/,
  },
  {
    // https://docs.astro.build/en/guides/endpoints/. A page that is not a script (`.astro`) is not read.
    dependency: 'astro',
    files: [/^src\/pages(?<route>\/.*)\.[jt]s$/],
    hook: /^src\/middleware(?:\/index)?\.[jt]s$/,
  },
]

export interface Handler {
  readonly module: SourceModule
  /** The path as its folders write it, without groups. */
  readonly pattern: string
  /** An example of the paths that it serves. */
  readonly path: string
  /** The methods that it may run for. */
  readonly methods: readonly string[]
}

export interface FileRoutes {
  readonly dependency: string
  readonly handlers: readonly Handler[]
  /** The file that runs before them. */
  readonly hook: string | undefined
}

/** Finds the routes of the project's framework; `undefined` if its routes are no files. */
export function fileRoutes(source: ProjectSource): FileRoutes | undefined {
  const packages = dependenciesOf(source.folder)
  const framework = FRAMEWORKS.find(({ dependency }) => packages.has(dependency))
  if (!framework) return undefined
  const paths = [...source.texts.keys()]
  return {
    dependency: framework.dependency,
    handlers: paths.flatMap((path) => handlerIn(source, path, framework.files)),
    hook: paths.find((path) => framework.hook.test(path)),
  }
}

function handlerIn(source: ProjectSource, path: string, files: readonly RegExp[]): Handler[] {
  const found = files.map((file) => file.exec(path)).find((match) => match !== null)
  if (!found) return []
  const segments = (found.groups?.['route'] ?? '').split('/').filter((segment) => segment !== '')
  // Folders and files that begin with `_` have no routes; `(.)x` shows the route of another folder.
  if (segments.some((segment) => /^_|^\(\.+\)/.test(segment))) return []
  const module = source.module(path)
  if (!module) return []
  const served = segments.filter((segment) => !/^(?:\(.*\)|@.*|index)$/.test(segment))
  return [
    {
      module,
      pattern: `/${served.join('/')}`,
      path: `/${served.map((segment) => segment.replace(/^\[.*\]$/, 'x')).join('/')}`,
      methods: methodsOf(module),
    },
  ]
}

const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/** Returns the methods that a file exports. POST for one that exports none by name, as a page with actions. */
function methodsOf({ exports }: SourceModule): readonly string[] {
  const methods = METHODS.filter((method) => exports.has(method))
  return methods.length === 0 ? ['POST'] : methods
}
