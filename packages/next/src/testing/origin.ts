import { resolveImport, nodesIn, type Binding, type Module, type Node } from './module.ts'

/** A node and its module. */
export interface Value {
  readonly module: Module
  readonly node: Node
}

/** The most names that are followed from one to the next. */
const DEPTH = 20

/** Finds the value that a module exports under a name, also if another file of the project defines it. */
export function exportOf(module: Module, name: string, depth = 0): Value | undefined {
  const exported = module.exports.get(name)
  if (exported === undefined || depth > DEPTH) return undefined
  if (!isBinding(exported)) return { module, node: exported }
  const other = resolveImport(module, exported.from)
  return other && exportOf(other, exported.name, depth + 1)
}

function isBinding(exported: Node | Binding): exported is Binding {
  return 'from' in exported
}

/** Returns true if a value is the result of a call of the function `maker` of `@sluice/next`. */
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

/** Returns true if `value`, or a value that it refers to, contains a call of `maker`. */
export function reaches(maker: string, value: Value, visited: Set<Node> = new Set()): boolean {
  const { module } = value
  if (visited.has(value.node)) return false
  visited.add(value.node)
  for (const node of nodesIn(value.node)) {
    const { callee, name } = node as { callee?: Node; name?: string }
    if (node.type === 'CallExpression' && callee && isFunctionOfSluice(module, callee, maker))
      return true
    if (node.type !== 'Identifier' || name === undefined) continue
    const declaration = module.declarations.get(name)
    const target = declaration ? { module, node: declaration } : importedValue(module, name)
    if (target && reaches(maker, target, visited)) return true
  }
  return false
}

function importedValue(module: Module, name: string): Value | undefined {
  const binding = module.imports.get(name)
  const other = binding && resolveImport(module, binding.from)
  return other && exportOf(other, binding.name)
}

/** Returns true if a callee is the function `maker` of `@sluice/next`, under any name. */
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
  const exported = other?.exports.get(name)
  if (!other || !exported) return false
  if (isBinding(exported)) return isBindingOf(other, exported, maker, depth + 1)
  const { name: local = '' } = exported as { name?: string }
  const binding = other.imports.get(local)
  return binding !== undefined && isBindingOf(other, binding, maker, depth + 1)
}

const PACKAGE = '@sluice/next'
