/* Functions that act on the answer of `rateLimit`. */
import { bare, calledBy, valueOf, type Value } from '../source/literal.ts'
import {
  childrenOf,
  nameOf,
  nodes,
  nodesIn,
  type Node,
  type SourceModule,
} from '../source/module.ts'

/** Where a node stands. */
interface Scope {
  readonly module: SourceModule
  /** All values that the variables of the functions around it are given. None for a parameter. */
  readonly locals: ReadonlyMap<string, readonly Node[]>
  /** The names that are being followed: one that leads to itself leads nowhere. */
  readonly followed: readonly Node[]
}

/** Returns true if a value is the limiter, or a function that returns the limiter's answer or decides a return by it. */
export const isLimitedFunction = ({ module, node }: Value): boolean =>
  isLimiter(node, { module, locals: new Map(), followed: [] })

const isLimiter = (given: Node, scope: Scope): boolean =>
  leadsTo(
    given,
    scope,
    (node, home) =>
      isCallOf('rateLimit', { module: home.module, node }) ||
      (isFunction(node) && acts(node, home)),
  )

/** Returns true for a call of a function of `@sluice/next`. */
export function isCallOf(maker: string, { module, node }: Value): boolean {
  const called = calledBy(module, node)
  return called?.from === '@sluice/next' && called.name === maker
}

/** The parts of an expression that may be its value. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  AwaitExpression: ['argument'],
  AssignmentExpression: ['right'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['left', 'right'],
}

/** Returns true if the value of an expression may be the limiter's answer, or is chosen by it. */
const isAnswer = (given: Node, scope: Scope): boolean =>
  leadsTo(given, scope, (node, home) => {
    if (node.type === 'CallExpression') return isLimiter(node['callee'] as Node, home)
    const parts = node['operator'] === '&&' ? ['right'] : (VALUES[node.type] ?? [])
    if (parts.some((part) => isAnswer(node[part] as Node, home))) return true
    return /^(?:Binary|Conditional)/.test(node.type) && depends(node['test'] ?? node, home)
  })

/** Returns true if an answer is part of an expression. */
const depends = (test: unknown, scope: Scope): boolean =>
  [...nodesIn(test as Node)].some((node) => isAnswer(node, scope))

/** Returns true if a function returns an answer, or returns or not by it. */
function acts(made: Node, scope: Scope): boolean {
  const body = made['body'] as Node
  const reached = [...nodesOf(body)]
  const inner = { ...scope, locals: new Map([...scope.locals, ...localsOf(made, reached)]) }
  if (body.type !== 'BlockStatement') return isAnswer(body, inner)
  return reached.some((node) => {
    if (node.type === 'ReturnStatement') return isAnswer((node['argument'] ?? node) as Node, inner)
    return (
      node.type === 'IfStatement' &&
      depends(node['test'], inner) &&
      [...nodesOf(node)].some(({ type }) => type === 'ReturnStatement')
    )
  })
}

/** Follows a name, which must lead to such a value by all that it is given. */
function leadsTo(given: Node, scope: Scope, isOne: (node: Node, home: Scope) => boolean): boolean {
  const named = bare(given)
  if (scope.followed.includes(named)) return false
  const inner = { ...scope, followed: [...scope.followed, named] }
  if (named.type !== 'Identifier') return isOne(named, inner)
  const values = scope.locals.get(nameOf(named))
  if (values) return values.length > 0 && values.every((value) => leadsTo(value, inner, isOne))
  const { module, node } = valueOf(scope.module, named)
  const declared = module.declarations.get(nameOf(node))
  const value = node.type === 'Identifier' && declared ? declared : node
  if (value.type === 'Identifier') return false
  return leadsTo(value, { module, locals: new Map(), followed: inner.followed }, isOne)
}

const isFunction = ({ type }: Node): boolean =>
  /^(?:ArrowFunction|Function|ObjectMethod|ClassMethod)/.test(type)

/** Returns the nodes of a function's body that it may reach: none of other functions, and none after a return. */
function* nodesOf(node: Node): Generator<Node> {
  yield node
  if (isFunction(node)) return
  // Code that is switched off.
  const isOff = (node['test'] as Node | undefined)?.['value'] === false
  for (const children of childrenOf(node)) {
    const end = children.findIndex(({ type }) => /^(?:Return|Throw)Statement$/.test(type))
    for (const child of end < 0 ? children : children.slice(0, end + 1)) {
      if (!isOff || child !== node['consequent']) yield* nodesOf(child)
    }
  }
}

/** Collects the values that a function gives to its variables. */
function localsOf(made: Node, reached: readonly Node[]): Map<string, Node[]> {
  const locals = new Map<string, Node[]>()
  const give = (names: Node, value?: unknown): void => {
    for (const name of nodesIn(names)) {
      if (name.type !== 'Identifier') continue
      locals.set(nameOf(name), [...(locals.get(nameOf(name)) ?? []), ...nodes([value])])
    }
  }
  for (const parameter of nodes(made['params'])) give(parameter)
  for (const node of reached) {
    if (node.type === 'VariableDeclarator') give(node['id'] as Node, node['init'])
    const left = node['left'] as Node
    if (node.type === 'AssignmentExpression' && left.type !== 'MemberExpression') {
      give(left, node['right'])
    }
    if (node.type === 'FunctionDeclaration') give(node['id'] as Node, node)
  }
  return locals
}
