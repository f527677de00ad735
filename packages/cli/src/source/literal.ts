/* The values that source text writes out. */
import { resolveImport } from './imports.ts'
import { nameOf, nodes, textIn, type Binding, type Node, type SourceModule } from './module.ts'

export interface Value {
  readonly module: SourceModule
  readonly node: Node
}

/** The most names that are followed from one to the next. */
const DEPTH = 20

/** Returns the expression in parentheses and type assertions. */
export function bare(node: Node): Node {
  const { type, expression } = node as Node & { readonly expression?: Node }
  return /^(?:TS|Parenthesized).*Expression$/.test(type) && expression ? bare(expression) : node
}

/** Follows constants of the project, also into other files, and type assertions. Returns what they lead to. */
export function valueOf(module: SourceModule, given: Node, depth = 0): Value {
  const node = bare(given)
  if (node.type !== 'Identifier' || depth > DEPTH) return { module, node }
  const constant = module.constants.get(nameOf(node))
  if (constant) return valueOf(module, constant, depth + 1)
  const imported = importedValue(module, nameOf(node))
  return imported ? valueOf(imported.module, imported.node, depth + 1) : { module, node }
}

/** Finds the value of an imported name in another file of the project. */
export function importedValue(module: SourceModule, name: string): Value | undefined {
  const binding = module.imports.get(name)
  return binding && boundValue(module, binding)
}

/** Finds the value of a name in another file: its whole program for all names, and for those of CommonJS. */
export function boundValue(
  module: SourceModule,
  { from, name }: Binding,
  depth = 0,
): Value | undefined {
  const other = moduleAt(module, from)
  const isWhole = name === '*' || other?.exports.size === 0
  if (other && isWhole) return { module: other, node: other.program }
  return exportedValue(other, name, depth)
}

/** Finds the value that a module exports under a name, also if another file of the project defines it. */
export function exportedValue(
  module: SourceModule | undefined,
  name: string,
  depth = 0,
): Value | undefined {
  const exported = module?.exports.get(name)
  if (!module || exported === undefined || depth > DEPTH) return undefined
  return isBinding(exported) ? boundValue(module, exported, depth + 1) : { module, node: exported }
}

/** Returns the project's own file that an import names. */
function moduleAt(module: SourceModule, from: string): SourceModule | undefined {
  const path = resolveImport(module, from)
  return path ? module.files.module(path) : undefined
}

export const isBinding = (exported: Node | Binding): exported is Binding => 'from' in exported

/** Returns the function of a package that a node calls, under any name, also through other files of the project. */
export function calledBy(module: SourceModule, { type, callee }: Node): Binding | undefined {
  if (type !== 'CallExpression') return undefined
  const { object, property, computed } = callee as Node
  const binding = module.imports.get(nameOf(object ?? callee))
  if (!object) return originOf(module, binding)
  if (binding?.name !== '*' || computed) return undefined
  return { from: binding.from, name: nameOf(property) }
}

/** Follows an imported name to the package that it is from. */
function originOf(
  module: SourceModule,
  binding: Binding | undefined,
  depth = 0,
): Binding | undefined {
  const other = binding && depth <= DEPTH ? moduleAt(module, binding.from) : undefined
  if (!other) return binding
  const exported = other.exports.get(binding?.name ?? '')
  const next = exported && !isBinding(exported) ? other.imports.get(nameOf(exported)) : exported
  return originOf(other, next, depth + 1)
}

/**
 * Returns the value of an expression that is written out; `undefined` if a part of it is not.
 *
 * @param module Its names are followed. Without it, names are not written out.
 */
export function literal(given: Node, module?: SourceModule): unknown {
  const { module: home, node } = module ? valueOf(module, given) : { module, node: bare(given) }
  const inner = (item: Node): unknown => literal(item, home)
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

export interface Property {
  /** `undefined` if the object lacks it. */
  readonly node: Node | undefined
  /** False if the object may have another value: it is no literal, or another one is spread in. */
  readonly isCertain: boolean
}

export function propertyOf(given: Node, name: string): Property {
  const object = bare(given)
  if (object.type !== 'ObjectExpression') return { node: undefined, isCertain: false }
  const properties = nodes(object['properties'])
  const at = properties.findLastIndex(
    (property) => nameOf(property['key']) === name && !property['computed'],
  )
  const node = (properties[at]?.['value'] ?? properties[at]) as Node | undefined
  // A later one may set it anew.
  const later = properties.slice(at + 1)
  const isCertain = !later.some(({ type, computed }) => type === 'SpreadElement' || computed)
  return { node, isCertain }
}

/** Returns the texts in a node's list of strings. */
export const textsIn = (node: Node): readonly string[] =>
  nodes(node['elements']).flatMap((element) => textIn(element) ?? [])
