/* A source file as a syntax tree. */
import { parse, type ParserPlugin } from '@babel/parser'

/** A node of a syntax tree. Its other fields depend on its type. */
export interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

/** A name of another module; `*` for all of them. */
export interface Binding {
  readonly from: string
  readonly name: string
}

/** A source file: its imports, constants and exports. Types are left out. */
export interface SourceModule {
  readonly path: string
  readonly program: Node
  /** The modules that it imports or exports from. */
  readonly sources: readonly string[]
  /** Imported names. */
  readonly imports: ReadonlyMap<string, Binding>
  /** The values of its top-level `const` declarations. */
  readonly constants: ReadonlyMap<string, Node>
  /** The names of what it declares and exports. */
  readonly exports: ReadonlySet<string>
}

/** Parses a file; `undefined` if it is malformed. */
export function parseModule(path: string, text: string): SourceModule | undefined {
  const plugins: ParserPlugin[] = ['decorators', 'importAttributes']
  if (!/\.[cm]?ts$/.test(path)) plugins.push('jsx')
  if (/\.[cm]?tsx?$/.test(path)) plugins.push('typescript')
  try {
    const { program } = parse(text, {
      sourceType: 'unambiguous',
      allowUndeclaredExports: true,
      allowReturnOutsideFunction: true,
      plugins,
    })
    return moduleOf(path, program as unknown as Node)
  } catch {
    return undefined
  }
}

function moduleOf(path: string, program: Node): SourceModule {
  const sources = new Set<string>()
  const imports = new Map<string, Binding>()
  const constants = new Map<string, Node>()
  const exports = new Set<string>()
  for (const statement of nodes(program['body'])) {
    const from = textIn(statement['source'])
    const isType = statement['importKind'] === 'type' || statement['exportKind'] === 'type'
    if (from !== undefined && !isType) sources.add(from)
    if (statement.type === 'ImportDeclaration' && !isType) {
      for (const specifier of nodes(statement['specifiers'])) {
        if (specifier['importKind'] === 'type') continue
        imports.set(nameOf(specifier['local']), { from: from ?? '', name: importedName(specifier) })
      }
    }
    const declaration = (statement['declaration'] ?? statement) as Node
    const isExported = statement.type === 'ExportNamedDeclaration' && !isType
    for (const declarator of nodes(declaration['declarations'])) {
      const name = nameOf(declarator['id'])
      const value = declarator['init'] as Node | null
      if (value && declaration['kind'] === 'const') constants.set(name, value)
      if (isExported) exports.add(name)
    }
    if (isExported) {
      if (declaration['id']) exports.add(nameOf(declaration['id']))
      for (const specifier of nodes(statement['specifiers']))
        exports.add(nameOf(specifier['exported']))
    }
    if (statement.type === 'ExportDefaultDeclaration') exports.add('default')
  }
  for (const node of nodesIn(program)) {
    const from = dynamicImport(node)
    if (from !== undefined) sources.add(from)
  }
  return { path, program, sources: [...sources], imports, constants, exports }
}

function importedName(specifier: Node): string {
  if (specifier.type === 'ImportSpecifier') return nameOf(specifier['imported'])
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : '*'
}

/** Returns the module of an `import()` or a `require()`. */
function dynamicImport(node: Node): string | undefined {
  if (node.type === 'ImportExpression') return textIn(node['source'])
  if (node.type !== 'CallExpression') return undefined
  const callee = node['callee'] as Node
  const isImport = callee.type === 'Import' || callee['name'] === 'require'
  return isImport ? textIn(nodes(node['arguments'])[0]) : undefined
}

/** Returns the nodes of a list; none if it is no list. */
export const nodes = (value: unknown): readonly Node[] =>
  Array.isArray(value) ? value.filter(isNode) : []

/** Returns the name of an identifier, or the text of a key. */
export function nameOf(node: unknown): string {
  const { name, value } = (node ?? {}) as { name?: string; value?: string }
  return name ?? value ?? ''
}

/** Returns the text of a string literal. */
export function textIn(node: unknown): string | undefined {
  const { type, value } = (node ?? {}) as { type?: string; value?: unknown }
  return type === 'StringLiteral' ? (value as string) : undefined
}

/** Yields a node and all nodes below it. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const [key, value] of Object.entries(node)) {
    if (key.endsWith('Comments') || key === 'loc' || key === 'extra') continue
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child)) yield* nodesIn(child)
    }
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value
