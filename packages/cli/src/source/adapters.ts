/* The adapters of Sluice that a project calls, as its source text says. */
import { compileRoutes, type RouteInput, type RouteOptions } from '@sluice/core/http'
import { attempt } from '@sluice/core/internal/limiter'
import { calledBy, literal, propertyOf, valueOf } from './literal.ts'
import { nodes, nodesIn, type Node, type SourceModule } from './module.ts'
import { modulesWith, type ProjectSource } from './project-source.ts'

export interface AdapterCall {
  readonly module: SourceModule
  /** The package that it is from, such as `@sluice/next`. */
  readonly from: string
  /**
   * The routes that it limits: `'all'` without the option; `'unknown'` if the source text does not say. Costs and other
   * functions are left out.
   */
  readonly routes: readonly RouteOf[] | 'all' | 'unknown'
}

/** The part of a route that is data. */
type RouteOf = Pick<RouteOptions, 'path' | 'id' | 'methods'>

/** Finds the calls of `rateLimit` of all packages of Sluice. */
export const adapterCalls = (source: ProjectSource): AdapterCall[] =>
  modulesWith(source, (text) => text.includes('rateLimit') && text.includes('@sluice/')).flatMap(
    callsIn,
  )

function callsIn(module: SourceModule): AdapterCall[] {
  return callsOfSluice(module).flatMap(({ node, name, from }) => {
    if (name !== 'rateLimit') return []
    // With the limiter first, or, for tRPC and others, in the options.
    const args = nodes(node['arguments'])
    const options = args[1] ?? args[0]
    return [{ module, from, routes: routesIn(module, options) }]
  })
}

export interface SluiceCall {
  readonly node: Node
  readonly name: string
  readonly from: string
}

/** Finds the calls of functions that a file imports from packages of Sluice. */
export const callsOfSluice = (module: SourceModule): SluiceCall[] =>
  [...nodesIn(module.program)].flatMap((node) => {
    const { from = '', name = '' } = calledBy(module, node) ?? {}
    return from.startsWith('@sluice/') ? [{ node, name, from }] : []
  })

function routesIn(module: SourceModule, given: Node | undefined): AdapterCall['routes'] {
  if (!given) return 'unknown'
  const options = valueOf(module, given)
  const { node, isCertain } = propertyOf(options.node, 'routes')
  if (!node) return isCertain ? 'all' : 'unknown'
  const list = valueOf(options.module, node)
  if (list.node.type !== 'ArrayExpression') return 'unknown'
  const routes = nodes(list.node['elements']).map((element) => routeIn(list.module, element))
  return routes.every((route) => route !== undefined) ? routes : 'unknown'
}

function routeIn(module: SourceModule, given: Node): RouteOf | undefined {
  const { module: home, node } = valueOf(module, given)
  const text = literal(node, home)
  if (typeof text === 'string') return { path: text }
  const [path, id, methods] = ['path', 'id', 'methods'].map((name) => propertyOf(node, name))
  if (!path?.node || !id?.isCertain || !methods?.isCertain) return undefined
  const [pathText, idText, names] = [path, id, methods].map(
    (property) => property.node && literal(property.node, home),
  )
  if (typeof pathText !== 'string') return undefined
  if ((id.node && typeof idText !== 'string') || (methods.node && !isTexts(names))) return undefined
  return {
    path: pathText,
    ...(typeof idText === 'string' && { id: idText }),
    ...(isTexts(names) && { methods: names }),
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Returns a function that finds the route of a request; `undefined` if the routes are malformed. */
export function matcherOf(
  routes: readonly RouteOf[],
): ((method: string, path: string) => boolean) | undefined {
  if (routes.length === 0) return () => false
  // Malformed ones are refused by the adapter itself, when it is loaded.
  const match = attempt(() => compileRoutes(routes as readonly RouteInput[]), undefined)
  return match && ((method, path) => match(method, path) !== undefined)
}
