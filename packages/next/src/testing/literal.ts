import type { Node } from './module.ts'

interface Parts extends Node {
  readonly value?: unknown
  readonly expression?: Node
  readonly elements?: readonly (Node | null)[]
  readonly properties?: readonly Parts[]
  readonly key?: { readonly name?: string; readonly value?: unknown }
  readonly computed?: boolean
  readonly expressions?: readonly Node[]
  readonly quasis?: readonly { readonly value: { readonly cooked?: string | null } }[]
}

/** The value of an expression that is written out; `undefined` if it, or a part of it, is not. */
export function literal(node: Node): unknown {
  const { value, expression, elements, properties, expressions, quasis } = node as Parts
  if (/^(String|Boolean|Numeric)Literal$/.test(node.type)) return value
  if (/^(TS|Parenthesized).*Expression$/.test(node.type) && expression) return literal(expression)
  if (node.type === 'TemplateLiteral' && expressions?.length === 0) return quasis?.[0]?.value.cooked
  if (node.type === 'ArrayExpression') {
    const items = elements?.map((element) => element && literal(element)) ?? []
    return items.every((item) => item !== undefined && item !== null) ? items : undefined
  }
  if (node.type !== 'ObjectExpression') return undefined
  const found: Record<string, unknown> = {}
  for (const property of properties ?? []) {
    const name = property.key?.name ?? property.key?.value
    if (property.type !== 'ObjectProperty' || property.computed || typeof name !== 'string') {
      return undefined
    }
    const item = literal(property.value as Node)
    if (item === undefined) return undefined
    found[name] = item
  }
  return found
}

/** The value of a property of an object that is written out, as a node. */
export function propertyOf(node: Node, name: string): Node | undefined {
  const { expression, properties } = node as Parts
  if (/^(TS|Parenthesized).*Expression$/.test(node.type) && expression) {
    return propertyOf(expression, name)
  }
  const found = properties?.find(({ key }) => (key?.name ?? key?.value) === name)
  return found?.value as Node | undefined
}
