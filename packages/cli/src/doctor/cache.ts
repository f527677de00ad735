/* Caches of a framework around a limiter. */
import { callsOfSluice } from '../source/adapters.ts'
import { fileRoutes } from '../source/handlers.ts'
import { valueOf } from '../source/literal.ts'
import { nameOf, nodes, nodesIn, textIn, type Node, type SourceModule } from '../source/module.ts'
import { modulesWith, type ProjectSource } from '../source/project-source.ts'
import type { Finding } from './finding.ts'

/**
 * Returns the places where Next.js keeps a response or a result, so that a decision of the limiter is made once and used
 * for many requests. `fetchCache` and `fetch` with a cache are none: the key of Next.js has the body of a request, which
 * is new with each decision.
 */
export function judgeCache(source: ProjectSource): Finding[] {
  const routes = fileRoutes(source)
  if (routes?.dependency !== 'next') return []
  const modules = modulesWith(source, (text) => /force-static|use cache|unstable_cache/.test(text))
  return modules.flatMap((module): Finding[] => {
    const handler = routes.handlers.find((each) => each.module === module)
    const decisions = decisionsIn(module)
    if (decisions.size === 0) return []
    if (handler && isStatic(module)) return [found(module, "dynamic = 'force-static'")]
    const cached = cachedFunctions(module).find(({ node }) =>
      [...nodesIn(node)].some((item) => decisions.has(item)),
    )
    return cached ? [found(module, cached.by)] : []
  })
}

/** Returns true if Next.js renders a route handler once, in advance: with one of the other methods, it does not. */
function isStatic({ constants, exports }: SourceModule): boolean {
  const dynamic = exports.has('dynamic') ? constants.get('dynamic') : undefined
  const others = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']
  const isGet = exports.has('GET') && !others.some((method) => exports.has(method))
  return isGet && textIn(dynamic) === 'force-static'
}

const found = ({ path }: SourceModule, by: string): Finding => ({
  code: 'fetch_cache',
  text: `${path} keeps what the limiter has decided, by ${by}: later requests are not limited`,
  remedy: 'remove it, or decide outside of what is cached',
})

/** Finds the calls that decide: of functions of Sluice, and of a limiter's methods. */
function decisionsIn(module: SourceModule): ReadonlySet<Node> {
  const calls = callsOfSluice(module)
    .filter(({ name }) => /^(?:withRateLimit|reserve|modelHandler)$/.test(name))
    .map(({ node }) => node)
  const methods = [...nodesIn(module.program)].filter((node) => {
    const callee = node.type === 'CallExpression' ? (node['callee'] as Node) : undefined
    if (callee?.type !== 'MemberExpression' || nameOf(callee['property']) !== 'check') return false
    const limiter = valueOf(module, callee['object'] as Node)
    return callsOfSluice(limiter.module).some(
      ({ node: call, name }) => name === 'createLimiter' && call === limiter.node,
    )
  })
  return new Set([...calls, ...methods])
}

/**
 * Finds the functions whose results are kept: https://nextjs.org/docs/app/api-reference/directives/use-cache and
 * https://nextjs.org/docs/app/api-reference/functions/unstable_cache
 */
const cachedFunctions = (module: SourceModule): { readonly node: Node; readonly by: string }[] =>
  [...nodesIn(module.program)].flatMap((node) => {
    const directive = nodes(node['directives'])
      .map(({ value }) => nameOf(value))
      .find((text) => /^use cache(?::|$)/.test(text))
    if (directive !== undefined) return [{ node, by: `'${directive}'` }]
    const callee = node.type === 'CallExpression' ? (node['callee'] as Node) : undefined
    const binding = module.imports.get(nameOf(callee))
    const isCache = binding?.from === 'next/cache' && binding.name === 'unstable_cache'
    return isCache ? [{ node, by: 'unstable_cache' }] : []
  })
