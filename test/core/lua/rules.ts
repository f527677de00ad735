/* The rules for Sluice's Lua: a reader finds names, not positions. */
import { parse } from 'luaparse'

interface Node {
  readonly type: string
  readonly range: readonly [number, number]
  readonly [part: string]: unknown
}

/** The findings in one program. */
interface Findings {
  /** The breaches of a rule, each with its Lua. */
  readonly faults: readonly string[]
  /** The variables that are declared, each with the Lua that declares it, and those of them that are never read. */
  readonly declared: ReadonlySet<string>
  readonly unread: ReadonlySet<string>
}

/**
 * Lists of which each element is the same kind of thing: arguments, amounts by age; and those whose order Redis gives, or
 * takes, beside the variables that hold a reply.
 */
const LISTS = new Set([
  'KEYS',
  'ARGV',
  'args',
  'reply',
  'counts',
  'weights',
  'guarantees',
  'rows',
  'heads',
  'added',
])

/** Variables that fragments of algorithms may use, and need not: those that outlive `check` in a line, too. */
const OFFERED = /^(kept_\w+|id|burst)$/

const MOST_RETURNED = 3

/** Parses a program. @throws SyntaxError When Redis could not run it. */
function findingsIn(lua: string): Findings {
  const chunk = parse(lua, { luaVersion: '5.1', ranges: true, scope: true }) as unknown as Node
  const faults: string[] = []
  const read = new Set<string>()
  const declared = new Set<string>()
  /** The variables that hold a reply of Redis, whose order is that of its command. */
  const replies = new Set<string>()
  const scopes: Map<string, string>[] = [new Map()]
  const textOf = ({ range: [start, end] }: Node): string => lua.slice(start, end)

  const declare = (variables: readonly Node[], by: string): void => {
    for (const { name } of variables) {
      const found = `${String(name)} of ${by.replaceAll(/\d+/g, 'N')}`
      scopes.at(-1)?.set(String(name), found)
      if (name !== '_' && !OFFERED.test(String(name))) declared.add(found)
    }
  }
  const scoped = (visitAll: () => void): void => {
    scopes.push(new Map())
    visitAll()
    scopes.pop()
  }
  const visitEach = (nodes: unknown): void => {
    for (const node of nodes as readonly Node[]) visit(node)
  }
  const isReply = (node: Node | undefined): boolean =>
    node?.type === 'CallExpression' && /^(redis|server)\.p?call$/.test(textOf(node['base'] as Node))
  const isList = (base: Node): boolean =>
    isReply(base) ||
    (base.type === 'Identifier' &&
      (LISTS.has(String(base['name'])) || replies.has(String(base['name'])))) ||
    (base.type === 'MemberExpression' && LISTS.has(String((base['identifier'] as Node)['name'])))
  const noteReplies = (variables: readonly Node[], values: readonly Node[]): void => {
    for (const [at, { name }] of variables.entries()) {
      if (isReply(values[at])) replies.add(String(name))
    }
  }

  function visit(node: Node): void {
    const { type } = node
    if (type === 'LocalStatement') {
      visitEach(node['init'])
      noteReplies(node['variables'] as Node[], node['init'] as Node[])
      return declare(node['variables'] as Node[], textOf(node))
    }
    if (type === 'AssignmentStatement') {
      visitEach(node['init'])
      noteReplies(node['variables'] as Node[], node['init'] as Node[])
      for (const target of node['variables'] as Node[]) {
        if (target.type !== 'Identifier') visit(target)
        else if (target['isLocal'] !== true) faults.push(`assigns a global: ${textOf(node)}`)
      }
      return
    }
    if (type === 'FunctionDeclaration') {
      const identifier = node['identifier'] as Node | null
      if (node['isLocal'] === true) declare([identifier as Node], textOf(identifier as Node))
      else if (identifier?.type === 'Identifier')
        faults.push(`assigns a global: ${textOf(identifier)}`)
      return scoped(() => {
        for (const { name } of node['parameters'] as Node[]) scopes.at(-1)?.set(String(name), '')
        visitEach(node['body'])
      })
    }
    if (type === 'ForNumericStatement' || type === 'ForGenericStatement') {
      const variables = (node['variables'] ?? [node['variable']]) as Node[]
      visitEach(node['iterators'] ?? [node['start'], node['end'], node['step']].filter(Boolean))
      return scoped(() => {
        declare(variables, textOf(node))
        visitEach(node['body'])
      })
    }
    if (type === 'ReturnStatement' && (node['arguments'] as Node[]).length > MOST_RETURNED) {
      faults.push(`returns more than ${MOST_RETURNED} values: ${textOf(node)}`)
    }
    if (type === 'IndexExpression' && !isList(node['base'] as Node)) {
      const index = node['index'] as Node
      const offset = (index['left'] ?? index) as Node
      const isPosition =
        index.type === 'NumericLiteral' ||
        (index['operator'] === '+' && Number(offset['value']) > 1)
      if (isPosition) faults.push(`names a field by its position: ${textOf(node)}`)
    }
    if (type === 'Identifier') {
      const found = scopes.findLast((scope) => scope.has(String(node['name'])))
      if (found) read.add(found.get(String(node['name'])) as string)
      return
    }
    const hasScope = Array.isArray(node['body']) && type !== 'Chunk'
    const visitParts = (): void => {
      for (const [part, child] of Object.entries(node)) {
        const isName =
          (part === 'identifier' && type === 'MemberExpression') ||
          (part === 'key' && type === 'TableKeyString')
        if (isName || part === 'globals') continue
        for (const one of Array.isArray(child) ? (child as unknown[]) : [child])
          if (isNode(one)) visit(one)
      }
    }
    if (hasScope) scoped(visitParts)
    else visitParts()
  }

  visit(chunk)
  return { faults, declared, unread: new Set([...declared].filter((name) => !read.has(name))) }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'range' in value

/** Returns the breaches in all programs. Of Lua that several share, each need not read every variable. */
export function faultsIn(programs: readonly string[]): string[] {
  const findings = programs.map(findingsIn)
  const isRead = (name: string): boolean =>
    findings.some(({ declared, unread }) => declared.has(name) && !unread.has(name))
  const unread = findings.flatMap((found) => [...found.unread].filter((name) => !isRead(name)))
  return [
    ...new Set([
      ...findings.flatMap(({ faults }) => faults),
      ...unread.map((name) => `never reads ${name}`),
    ]),
  ]
}
