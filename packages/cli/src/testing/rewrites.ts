import { literal, propertyOf, type Value } from '../source/literal.ts'
import { nameOf, nodesIn, type Node } from '../source/module.ts'
import { fileOf, settingsNamed, type Project } from './project.ts'

export interface Rewrite {
  readonly source: string
  readonly destination: string
}

/** Reads the `rewrites` of the project's configuration. @throws Error When they are not written out there. */
export const readRewrites = (project: Project): Rewrite[] =>
  settingsNamed(project, 'rewrites').flatMap(rewritesIn)

function rewritesIn({ module, node }: Value): Rewrite[] {
  const nodes = [...nodesIn(module.declarations.get(nameOf(node)) ?? node)]
  const lists = nodes.filter(({ type }) => type === 'ArrayExpression')
  const isWrittenOut = lists
    .flatMap(({ elements }) => elements as readonly (Node | null)[])
    .every((element) => element?.type === 'ObjectExpression')
  const rewrites = nodes
    .filter((item) => item.type === 'ObjectExpression' && propertyOf(item, 'destination').node)
    .map((item) => ['source', 'destination'].map((key) => textOf(propertyOf(item, key).node)))
  if (lists.length === 0 || !isWrittenOut || rewrites.flat().includes(undefined)) {
    throw new Error(
      `${fileOf(module)}: rewrites must be literals; otherwise pass them to this function, too`,
    )
  }
  return rewrites.map(([source = '', destination = '']) => ({ source, destination }))
}

function textOf(node: Node | undefined): string | undefined {
  const value = node && literal(node)
  return typeof value === 'string' ? value : undefined
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
