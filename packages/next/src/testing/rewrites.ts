import type { Node } from './module.ts'
import { settingsNamed, type Setting } from './config-file.ts'
import { literal, propertyOf } from './literal.ts'
import { nodesIn } from './module.ts'

/** A rewrite of `next.config`. */
export interface Rewrite {
  readonly source: string
  readonly destination: string
}

/** Reads the `rewrites` of the project's configuration. @throws Error When they are not written out there. */
export function readRewrites(root: string): Rewrite[] {
  return settingsNamed(root, 'rewrites').flatMap(rewritesIn)
}

function rewritesIn({ module, node }: Setting): Rewrite[] {
  const { name = '' } = node as { name?: string }
  const nodes = [...nodesIn(module.declarations.get(name) ?? node)]
  const lists = nodes.filter(({ type }) => type === 'ArrayExpression') as ListNode[]
  const isWrittenOut = lists.every(({ elements }) =>
    elements.every((element) => element?.type === 'ObjectExpression'),
  )
  const rewrites = nodes
    .filter((item) => item.type === 'ObjectExpression' && propertyOf(item, 'destination'))
    .map((item) => ['source', 'destination'].map((key) => textOf(propertyOf(item, key))))
  if (lists.length === 0 || !isWrittenOut || rewrites.flat().includes(undefined)) {
    throw new Error(
      `${module.file}: rewrites must be literals; otherwise pass them to this function, too`,
    )
  }
  return rewrites.map(([source = '', destination = '']) => ({ source, destination }))
}

interface ListNode extends Node {
  readonly elements: readonly (Node | null)[]
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
