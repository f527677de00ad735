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

/** Returns the value of a literal expression; `undefined` if any part of it is not a literal. */
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
  const object: Record<string, unknown> = {}
  for (const property of properties ?? []) {
    const name = property.key?.name ?? property.key?.value
    if (property.type !== 'ObjectProperty' || property.computed || typeof name !== 'string') {
      return undefined
    }
    const item = literal(property.value as Node)
    if (item === undefined) return undefined
    object[name] = item
  }
  return object
}

/** Returns the node of a property's value in an object literal. */
export function propertyOf(node: Node, name: string): Node | undefined {
  const { expression, properties } = node as Parts
  if (/^(TS|Parenthesized).*Expression$/.test(node.type) && expression) {
    return propertyOf(expression, name)
  }
  const property = properties?.find(({ key }) => (key?.name ?? key?.value) === name)
  return property?.value as Node | undefined
}
