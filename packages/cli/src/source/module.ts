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

/** The source files that imports may lead to, by their paths from a folder, with slashes. */
export interface SourceFiles {
  readonly folder: string
  /** Returns true if a file is one of them. */
  has(path: string): boolean
  /** Returns a file as a syntax tree; `undefined` if there is none or it does not parse. */
  module(path: string): SourceModule | undefined
}

/** A source file: its imports, declarations and exports. Types are left out. */
export interface SourceModule {
  readonly files: SourceFiles
  readonly path: string
  readonly program: Node
  readonly imports: ReadonlyMap<string, Binding>
  readonly declarations: ReadonlyMap<string, Node>
  /** The values of its top-level `const` declarations. */
  readonly constants: ReadonlyMap<string, Node>
  readonly exports: ReadonlyMap<string, Node | Binding>
}

/** Parses a file. @throws SyntaxError When it is malformed. */
export function parseModule(files: SourceFiles, path: string, text: string): SourceModule {
  const plugins: ParserPlugin[] = ['decorators', 'importAttributes']
  if (!/\.[cm]?ts$/.test(path)) plugins.push('jsx')
  if (/\.[cm]?tsx?$/.test(path)) plugins.push('typescript')
  const { program } = parse(text, {
    sourceType: 'unambiguous',
    allowUndeclaredExports: true,
    allowReturnOutsideFunction: true,
    plugins,
  })
  return collectNames(files, path, program as unknown as Node)
}

/** Collects what the statements of a file import, declare and export. */
function collectNames(files: SourceFiles, path: string, program: Node): SourceModule {
  const imports = new Map<string, Binding>()
  const declarations = new Map<string, Node>()
  const constants = new Map<string, Node>()
  const exports = new Map<string, Node | Binding>()
  for (const statement of nodes(program['body'])) {
    if (isType(statement)) continue
    const from = textIn(statement['source'])
    const specifiers = nodes(statement['specifiers'])
    const isExported = statement.type === 'ExportNamedDeclaration'
    if (statement.type === 'ExportAllDeclaration') exports.set('*', { from: from ?? '', name: '*' })
    for (const specifier of specifiers.filter((one) => !isType(one))) {
      const local = specifier['local'] as Node
      if (!isExported) {
        imports.set(nameOf(local), { from: from ?? '', name: importedName(specifier) })
        continue
      }
      const value = from === undefined ? local : { from, name: local ? nameOf(local) : '*' }
      exports.set(nameOf(specifier['exported']), value)
    }
    const declaration = (statement['declaration'] ?? statement) as Node
    if (statement.type === 'ExportDefaultDeclaration') exports.set('default', declaration)
    for (const [id, value] of declared(declaration)) {
      const { id: pattern, init } = value as Node & {
        readonly id: Node
        readonly init?: Node | null
      }
      const required = init ? requiredBy(init) : undefined
      if (required === undefined) declarations.set(nameOf(id), value)
      else {
        const property = nodes(pattern['properties']).find((each) => each['value'] === id)
        imports.set(nameOf(id), { from: required, name: property ? nameOf(property['key']) : '*' })
      }
      if (pattern === id && init && required === undefined && declaration['kind'] === 'const') {
        constants.set(nameOf(id), init)
      }
      if (isExported) exports.set(nameOf(id), id)
    }
  }
  return { files, path, program, imports, declarations, constants, exports }
}

/** Returns true for a statement or a name that the compiler removes. */
const isType = ({ importKind, exportKind }: Node): boolean =>
  importKind === 'type' || exportKind === 'type'

/** Returns the identifiers that a statement declares, each with the node that declares it. */
function declared(statement: Node): (readonly [id: Node, value: Node])[] {
  if (/^(?:Function|Class)Declaration$/.test(statement.type)) {
    return statement['id'] ? [[statement['id'] as Node, statement]] : []
  }
  return nodes(statement['declarations']).flatMap((declarator) =>
    [...nodesIn(declarator['id'] as Node)]
      .filter(({ type }) => type === 'Identifier')
      .map((id) => [id, declarator] as const),
  )
}

function importedName(specifier: Node): string {
  if (specifier.type === 'ImportSpecifier') return nameOf(specifier['imported'])
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : '*'
}

/** Returns the modules that a file imports or exports from, also by `import()` and `require()`. */
export const sourcesOf = ({ program }: SourceModule): readonly string[] =>
  [...nodesIn(program)].flatMap((node) => {
    if (/^(?:Import|Export).*Declaration$/.test(node.type)) {
      return isType(node) ? [] : (textIn(node['source']) ?? [])
    }
    if (node.type === 'ImportExpression') return textIn(node['source']) ?? []
    return requiredBy(node) ?? []
  })

/** Returns the module that a call of `require()` or `import()` names. */
function requiredBy(node: Node): string | undefined {
  const callee = node.type === 'CallExpression' ? (node['callee'] as Node) : undefined
  const isImport = callee?.type === 'Import' || callee?.['name'] === 'require'
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

export function textIn(node: unknown): string | undefined {
  const { type, value } = (node ?? {}) as { type?: string; value?: unknown }
  return type === 'StringLiteral' ? (value as string) : undefined
}

export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const children of childrenOf(node)) for (const child of children) yield* nodesIn(child)
}

/** Returns the nodes of each field of a node. */
export const childrenOf = (node: Node): (readonly Node[])[] =>
  Object.entries(node)
    .filter(([key]) => !key.endsWith('Comments') && key !== 'loc' && key !== 'extra')
    .map(([, value]) => nodes(Array.isArray(value) ? value : [value]))

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value
