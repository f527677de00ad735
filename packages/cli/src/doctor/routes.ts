/* The routes of an app that are files, and the limits that do not reach them. */
import { resolve } from 'node:path'
import { adapterCalls, matcherOf } from '../source/adapters.ts'
import { fileRoutes, type FileRoutes, type Handler } from '../source/handlers.ts'
import { reachesModel } from '../source/models.ts'
import { mayUseSluice } from '../source/imports.ts'
import { literal, propertyOf } from '../source/literal.ts'
import type { SourceModule } from '../source/module.ts'
import { patternsOf, runsFor } from '../source/next-matcher.ts'
import type { ProjectSource } from '../source/project-source.ts'
import { findingsAmong, type Finding } from './finding.ts'

/** Finds the route of a request: true if an adapter limits it. */
type IsLimited = (method: string, path: string) => boolean

/** Returns the routes that no limiter protects. Nothing if the source text does not say which ones it does. */
export function judgeRoutes(source: ProjectSource): Finding[] {
  const routes = fileRoutes(source)
  const isLimited = routes && limitedPaths(source, routes)
  if (!isLimited) return []
  // A handler that uses Sluice may limit itself.
  const handlers = routes.handlers.filter(({ module }) => !mayUseSluice(module))
  const limited = handlers.filter(({ path, methods }) =>
    methods.some((method) => isLimited(method, path)),
  )
  return findingsAmong([
    judgeUnprotected(handlers.filter((handler) => !limited.includes(handler))),
    judgeMatcher(source, routes, limited),
  ])
}

/** Returns a function that finds the paths that adapters limit; `undefined` if that cannot be read. */
function limitedPaths(source: ProjectSource, { hook }: FileRoutes): IsLimited | undefined {
  const matchers: IsLimited[] = []
  const calls = adapterCalls(source)
  // A function of your own may limit anything.
  if (calls.length === 0 && hook !== undefined && mayUseSluice(source.module(hook)))
    return undefined
  for (const { routes } of calls) {
    const match = typeof routes === 'string' ? undefined : matcherOf(routes)
    if (!match) return undefined
    matchers.push(match)
  }
  return (method, path) => matchers.some((match) => match(method, path))
}

function judgeUnprotected(handlers: readonly Handler[]): Finding | undefined {
  const open = handlers.filter(({ module }) => reachesModel(module))
  if (open.length === 0) return undefined
  const list = open.map(({ pattern, module }) => `${pattern} (${module.path})`).join(', ')
  return {
    code: 'route_unprotected',
    text: `routes call a model, and no limiter protects them: ${list}`,
    remedy: `add the path to the routes of rateLimit, such as '${open[0]?.path}', or limit the call itself (limitedModel, limitedFetch)`,
  }
}

function judgeMatcher(
  source: ProjectSource,
  { dependency, hook }: FileRoutes,
  limited: readonly Handler[],
): Finding | undefined {
  const module = dependency === 'next' && hook !== undefined ? source.module(hook) : undefined
  if (!module || limited.length === 0 || !mayUseSluice(module)) return undefined
  const mayRun = middlewareMatcher(module)
  const gaps = limited.filter(({ path }) => mayRun?.(path) === false)
  if (gaps.length === 0) return undefined
  return {
    code: 'matcher_gap',
    text: `config.matcher of ${hook} leaves out paths that its routes name, so they are never limited: ${gaps.map(({ pattern }) => pattern).join(', ')}`,
    remedy: `add them to the matcher, such as '${gaps[0]?.path}'`,
  }
}

/**
 * Returns a function that finds whether the middleware of a file may run for a path. Returns `undefined` if
 * `config.matcher` is not written out, or this version of Next.js does not tell.
 */
function middlewareMatcher(module: SourceModule): ((path: string) => boolean) | undefined {
  const config = module.exports.has('config') ? module.constants.get('config') : undefined
  const node = config && propertyOf(config, 'matcher').node
  const patterns = node && patternsOf(literal(node, module))
  return patterns && runsFor(resolve(module.files.folder, 'package.json'), patterns)
}
