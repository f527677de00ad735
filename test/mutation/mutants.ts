/* Small mistakes that can be made in a built module, and in the Lua that it holds. */
import { parseSync } from 'oxc-parser'
import { isLua, luaMutations } from './lua.ts'

/** A text that stands instead of another. */
export interface Mutation {
  readonly operator: Operator
  readonly start: number
  readonly end: number
  readonly instead: string
}

type Operator = 'comparison' | 'boundary' | 'sign' | 'constant' | 'logic' | 'dropped call'

const OTHERS: Readonly<Record<string, readonly [Operator, instead: string][]>> = {
  '<': [
    ['comparison', '>='],
    ['boundary', '<='],
  ],
  '<=': [
    ['comparison', '>'],
    ['boundary', '<'],
  ],
  '>': [
    ['comparison', '<='],
    ['boundary', '>='],
  ],
  '>=': [
    ['comparison', '<'],
    ['boundary', '>'],
  ],
  '===': [['comparison', '!==']],
  '!==': [['comparison', '===']],
  '+': [['sign', '-']],
  '-': [['sign', '+']],
  '*': [['sign', '/']],
  '/': [['sign', '*']],
  '+=': [['sign', '-=']],
  '-=': [['sign', '+=']],
  '&&': [['logic', '||']],
  '||': [['logic', '&&']],
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** Returns every mutation of a module, in the order of its text. */
export function mutationsOf(path: string, text: string): Mutation[] {
  const found: Mutation[] = []
  visit(parseSync(path, text).program as unknown as Node, undefined)
  return found.toSorted((a, b) => a.start - b.start || a.instead.localeCompare(b.instead))

  function visit(node: Node, parent: Node | undefined): void {
    mutate(node, parent)
    // An error or a message is a text for people.
    if (node.type === 'NewExpression' && isNamed(node['callee'], /Error$/)) return
    for (const child of Object.values(node)) {
      for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) visit(one, node)
    }
  }

  function mutate(node: Node, parent: Node | undefined): void {
    const { type, start, end } = node
    const add = (operator: Operator, instead: string, at = start, until = end) =>
      found.push({ operator, start: at, end: until, instead })
    switch (type) {
      case 'BinaryExpression':
      case 'LogicalExpression':
      case 'AssignmentExpression': {
        const [left, right] = [node['left'] as Node, node['right'] as Node]
        const sign = node['operator'] as string
        if (sign.startsWith('+') && (isText(left) || isText(right))) return
        const at = text.indexOf(sign, left.end)
        for (const [operator, instead] of OTHERS[sign] ?? []) {
          add(operator, instead, at, at + sign.length)
        }
        return
      }
      case 'UnaryExpression': {
        const sign = node['operator']
        if (sign === '!') add('logic', '', start, start + 1)
        if (sign === '-') add('sign', '', start, start + 1)
        return
      }
      case 'Literal': {
        const { value } = node
        if (typeof value === 'boolean') add('constant', String(!value))
        if (typeof value === 'number' && !isKey(node, parent)) {
          add('constant', value === 1 ? '0' : `(${text.slice(start, end)} + 1)`)
        }
        if (typeof value === 'string' && isLua(value)) addLua(start + 1, end - 1)
        return
      }
      case 'TemplateLiteral': {
        const quasis = node['quasis'] as readonly Node[]
        if (!isLua(quasis.map((quasi) => text.slice(quasi.start, quasi.end)).join('0'))) return
        for (const quasi of quasis) addLua(quasi.start, quasi.end)
        addDroppedLuaCalls(start + 1, end - 1)
        return
      }
      case 'ExpressionStatement': {
        const expression = node['expression'] as Node
        const called =
          expression.type === 'AwaitExpression' ? (expression['argument'] as Node) : expression
        if (called.type !== 'CallExpression' || (called['callee'] as Node).type === 'Super') return
        add('dropped call', ';')
        return
      }
    }
  }

  function addLua(start: number, end: number): void {
    for (const mutation of luaMutations(text.slice(start, end))) {
      found.push({ ...mutation, start: start + mutation.start, end: start + mutation.end })
    }
  }

  /** A line that is one call of Redis. */
  function addDroppedLuaCalls(start: number, end: number): void {
    for (const match of text.slice(start, end).matchAll(/^[ \t]*(redis\.call\(.*\))$/gm)) {
      const [line, call = ''] = match
      const at = start + match.index + line.length - call.length
      found.push({ operator: 'dropped call', start: at, end: at + call.length, instead: '' })
    }
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

const isText = ({ type, value }: Node): boolean =>
  type === 'TemplateLiteral' || typeof value === 'string'

const isNamed = (value: unknown, name: RegExp): boolean =>
  isNode(value) && typeof value['name'] === 'string' && name.test(value['name'])

const isKey = (node: Node, parent: Node | undefined): boolean =>
  parent !== undefined && 'key' in parent && parent['key'] === node && parent['computed'] !== true
