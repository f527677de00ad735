import { literal, valueOf } from '../source/literal.ts'
import { nameOf, nodes, type Node } from '../source/module.ts'
import { notLiteral, settingOf, type Project } from './project.ts'

export interface Rewrite {
  readonly source: string
  readonly destination: string
}

/** Reads the `rewrites` of the project's configuration. @throws Error When they are not written out there. */
export function readRewrites(project: Project): Rewrite[] {
  const setting = settingOf(project, 'rewrites')
  if (!setting) return []
  const { module, node } = valueOf(setting.module, setting.node)
  const value = literal(resultOf(module.declarations.get(nameOf(node)) ?? node))
  const rewrites: unknown = Array.isArray(value) ? value : Object.values(Object(value)).flat()
  if (value !== undefined && (rewrites as unknown[]).every(isRewrite)) return rewrites as Rewrite[]
  throw notLiteral(setting.module, 'rewrites')
}

/** Returns the expression that a function returns, if it does nothing else. */
function resultOf(made: Node): Node {
  const body = (made['body'] ?? made) as Node
  const [statement, ...others] = nodes(body['body'])
  if (!statement) return body
  const isReturn = statement.type === 'ReturnStatement' && others.length === 0
  return ((isReturn && statement['argument']) || made) as Node
}

function isRewrite(item: unknown): boolean {
  const { source, destination } = Object(item) as Record<string, unknown>
  return typeof source === 'string' && typeof destination === 'string'
}

/** A named part of a path, such as `:id`, `:id(\\d+)` or `:path*`, with the slash before it. */
const PART = /(\/?):(\w+)(?:\([^)]*\))?([*+?]?)/g

/**
 * Returns the path that a rewrite leads to `path` from, or `undefined` if it leads elsewhere. Each named part
 * has the value that `path` has at its position in the destination.
 */
export function aliasOf({ source, destination }: Rewrite, path: string): string | undefined {
  const [target = ''] = destination.split(/[?#]/)
  const pattern = target
    .replaceAll(/[\\^$.|[\]{}]/g, '\\$&')
    .replaceAll(PART, (_, slash: string, name: string, modifier: string) => {
      const value = `(?<${name}>${modifier === '' ? '[^/]+' : '.+'})`
      return modifier === '*' ? `(?:${slash}${value})?` : slash + value
    })
  const found = new RegExp(`^${pattern}/?$`).exec(path)
  if (!found) return undefined
  const filled = source.replaceAll(PART, (_, slash: string, name: string, modifier: string) => {
    const value = found.groups?.[name] ?? (/[*?]/.test(modifier) ? '' : 'x')
    return value && slash + value
  })
  // A part without a name is tried with one value.
  return filled.replaceAll(/\([^)]*\)/g, 'x') || '/'
}
