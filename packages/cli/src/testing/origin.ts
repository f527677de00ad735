import { calledBy, importedValue, valueOf, type Value } from '../source/literal.ts'
import { nameOf, nodesIn, type Node, type SourceModule } from '../source/module.ts'

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

function isCallOf(maker: string, module: SourceModule, node: Node): boolean {
  const called = calledBy(module, node)
  return called?.from === '@sluice/next' && called.name === maker
}
