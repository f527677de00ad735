import {
  DEPTH,
  importedValue,
  isBinding,
  moduleAt,
  valueOf,
  type Value,
} from '../source/literal.ts'
import { nameOf, nodesIn, type Binding, type Node, type SourceModule } from '../source/module.ts'

/** Returns true if a value is the result of a call of the function `maker` of `@sluice/next`. */
export function isMadeBy(maker: string, given: Value | undefined): boolean {
  if (!given) return false
  const { module, node } = valueOf(given.module, given.node)
  return isCallOf(maker, module, node)
}

/** Returns true if `value`, or a value that it refers to, contains a call of `maker`. */
export function reaches(maker: string, value: Value, visited: Set<Node> = new Set()): boolean {
  const { module } = value
  if (visited.has(value.node)) return false
  visited.add(value.node)
  for (const node of nodesIn(value.node)) {
    if (isCallOf(maker, module, node)) return true
    if (node.type !== 'Identifier') continue
    const declaration = module.declarations.get(nameOf(node))
    const target = declaration ? { module, node: declaration } : importedValue(module, nameOf(node))
    if (target && reaches(maker, target, visited)) return true
  }
  return false
}

/** Returns true if a node calls the function `maker` of `@sluice/next`, under any name. */
function isCallOf(maker: string, module: SourceModule, node: Node): boolean {
  if (node.type !== 'CallExpression') return false
  const callee = node['callee'] as Node
  if (callee.type === 'Identifier') return isFrom(maker, module, module.imports.get(nameOf(callee)))
  if (callee.type !== 'MemberExpression' || callee['computed']) return false
  const binding = module.imports.get(nameOf(callee['object']))
  return binding?.from === PACKAGE && binding.name === '*' && nameOf(callee['property']) === maker
}

/** Returns true if an imported name leads to `maker`, also through other files of the project. */
function isFrom(
  maker: string,
  module: SourceModule,
  binding: Binding | undefined,
  depth = 0,
): boolean {
  if (!binding || depth > DEPTH) return false
  if (binding.from === PACKAGE) return binding.name === maker
  const other = moduleAt(module, binding.from)
  const exported = other?.exports.get(binding.name)
  if (!other || !exported) return false
  const next = isBinding(exported) ? exported : other.imports.get(nameOf(exported))
  return isFrom(maker, other, next, depth + 1)
}

const PACKAGE = '@sluice/next'
