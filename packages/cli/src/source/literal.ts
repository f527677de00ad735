/* The values that source text writes out. */
import { nameOf, nodes, textIn, type Node, type SourceModule } from './module.ts'
import { resolveImport } from './imports.ts'
import type { ProjectSource } from './project-source.ts'

/** The most constants that are followed from one to the next. */
const DEPTH = 10

/** Follows constants of the project, also into other files, and type assertions. Returns what they lead to. */
export function valueOf(
  source: ProjectSource,
  module: SourceModule,
  node: Node,
  depth = 0,
): { readonly module: SourceModule; readonly node: Node } {
  const { type, expression } = node as { type: string; expression?: Node }
  if (/^(?:TS|Parenthesized).*Expression$/.test(type) && expression) {
    return valueOf(source, module, expression, depth)
  }
  if (type !== 'Identifier' || depth > DEPTH) return { module, node }
  const constant = module.constants.get(nameOf(node))
  if (constant) return valueOf(source, module, constant, depth + 1)
  const binding = module.imports.get(nameOf(node))
  const path = binding && resolveImport(source, module.path, binding.from)
  const other = path ? source.module(path) : undefined
  const value = binding && other?.constants.get(binding.name)
  return other && value ? valueOf(source, other, value, depth + 1) : { module, node }
}

/** Returns the value of an expression that is written out; `undefined` if a part of it is not. */
export function literal(source: ProjectSource, module: SourceModule, given: Node): unknown {
  const found = valueOf(source, module, given)
  const { node } = found
  const inner = (item: Node): unknown => literal(source, found.module, item)
  if (/^(?:String|Boolean|Numeric)Literal$/.test(node.type)) return node['value']
  if (node.type === 'TemplateLiteral' && nodes(node['expressions']).length === 0) {
    const [text] = nodes(node['quasis'])
    return (text?.['value'] as { cooked?: string } | undefined)?.cooked
  }
  if (node.type === 'ArrayExpression') {
    const elements = node['elements'] as readonly (Node | null)[]
    const items = elements.map((element) => element && inner(element))
    return items.every((item) => item !== undefined && item !== null) ? items : undefined
  }
  if (node.type !== 'ObjectExpression') return undefined
  const object: Record<string, unknown> = {}
  for (const property of nodes(node['properties'])) {
    if (property.type !== 'ObjectProperty' || property['computed']) return undefined
    const value = inner(property['value'] as Node)
    if (value === undefined) return undefined
    object[nameOf(property['key'])] = value
  }
  return object
}

/** The value of a property of an object that is written out. */
export interface Property {
  /** `undefined` if the object lacks it. */
  readonly node: Node | undefined
  /** False if the object may have it all the same: it is no literal, or another one is spread in. */
  readonly isCertain: boolean
}

/** Finds a property of an object literal. */
export function propertyOf(object: Node, name: string): Property {
  if (object.type !== 'ObjectExpression') return { node: undefined, isCertain: false }
  const properties = nodes(object['properties'])
  const found = properties.findLast(
    (property) => nameOf(property['key']) === name && !property['computed'],
  )
  const node = (found?.['value'] ?? found) as Node | undefined
  const isOpen = properties.some(({ type, computed }) => type === 'SpreadElement' || computed)
  return { node, isCertain: node !== undefined || !isOpen }
}

/** Returns the texts in a node's list of strings. */
export const textsIn = (node: Node): readonly string[] =>
  nodes(node['elements']).flatMap((element) => textIn(element) ?? [])
