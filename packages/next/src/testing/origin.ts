import { resolveImport, nodesIn, type Binding, type Module, type Node } from './module.ts'

/** A node and the module that it stands in. */
export interface Value {
  readonly module: Module
  readonly node: Node
}

/** Limit on the names of a name that are followed. */
const DEPTH = 20

/** Finds what a module exports under a name, in whichever file of the project it stands. */
export function exportOf(module: Module, name: string, depth = 0): Value | undefined {
  const found = module.exports.get(name)
  if (found === undefined || depth > DEPTH) return undefined
  if (!isBinding(found)) return { module, node: found }
  const other = resolveImport(module, found.from)
  return other && exportOf(other, found.name, depth + 1)
}

function isBinding(found: Node | Binding): found is Binding {
  return 'from' in found
}

/** Returns true if a value is what a call of that function of `@sluice/next` returned. */
export function isMadeBy(maker: string, { module, node }: Value, depth = 0): boolean {
  const { callee, expression } = node as { callee?: Node; expression?: Node }
  if (depth > DEPTH) return false
  if (node.type === 'CallExpression' && callee) return isFunctionOfSluice(module, callee, maker)
  if (/^(TS|Parenthesized).*Expression$/.test(node.type) && expression) {
    return isMadeBy(maker, { module, node: expression }, depth + 1)
  }
  if (node.type !== 'Identifier') return false
  const { name } = node as Node & { readonly name: string }
  const constant = module.constants.get(name)
  const value = constant ? { module, node: constant } : importedValue(module, name)
  return value !== undefined && isMadeBy(maker, value, depth + 1)
}

/** Returns true if a call of that function stands in `value`, or in what it names. */
export function reaches(maker: string, value: Value, seen: Set<Node> = new Set()): boolean {
  const { module } = value
  if (seen.has(value.node)) return false
  seen.add(value.node)
  for (const node of nodesIn(value.node)) {
    const { callee, name } = node as { callee?: Node; name?: string }
    if (node.type === 'CallExpression' && callee && isFunctionOfSluice(module, callee, maker))
      return true
    if (node.type !== 'Identifier' || name === undefined) continue
    const declared = module.declarations.get(name)
    const named = declared ? { module, node: declared } : importedValue(module, name)
    if (named && reaches(maker, named, seen)) return true
  }
  return false
}

function importedValue(module: Module, name: string): Value | undefined {
  const binding = module.imports.get(name)
  const other = binding && resolveImport(module, binding.from)
  return other && exportOf(other, binding.name)
}

/** Returns true if a callee is that function of `@sluice/next`, under whatever name. */
function isFunctionOfSluice(module: Module, callee: Node, maker: string): boolean {
  const { name, object, property, computed } = callee as {
    readonly name?: string
    readonly object?: { readonly name?: string }
    readonly property?: { readonly name?: string }
    readonly computed?: boolean
  }
  if (callee.type === 'Identifier' && name !== undefined) {
    const binding = module.imports.get(name)
    return binding !== undefined && isBindingOf(module, binding, maker)
  }
  if (callee.type !== 'MemberExpression' || computed || object?.name === undefined) return false
  const binding = module.imports.get(object.name)
  return binding?.from === PACKAGE && binding.name === '*' && property?.name === maker
}

function isBindingOf(module: Module, { from, name }: Binding, maker: string, depth = 0): boolean {
  if (from === PACKAGE) return name === maker
  const other = depth > DEPTH ? undefined : resolveImport(module, from)
  const found = other?.exports.get(name)
  if (!other || !found) return false
  if (isBinding(found)) return isBindingOf(other, found, maker, depth + 1)
  const { name: local = '' } = found as { name?: string }
  const binding = other.imports.get(local)
  return binding !== undefined && isBindingOf(other, binding, maker, depth + 1)
}

const PACKAGE = '@sluice/next'
