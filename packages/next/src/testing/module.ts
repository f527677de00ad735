import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, type ParserPlugin } from '@babel/parser'

type Program = ReturnType<typeof parse>['program']
type Statement = Program['body'][number]
/** A node of a syntax tree. Its other fields depend on its type. */
export interface Node {
  readonly type: string
}

/** A name in another module; `*` for all of them. */
export interface Binding {
  readonly from: string
  readonly name: string
}

/** A source file: its imports, declarations and exports. */
export interface Module {
  readonly file: string
  readonly root: string
  readonly program: Program
  readonly imports: ReadonlyMap<string, Binding>
  /** The declarations at its top level. */
  readonly declarations: ReadonlyMap<string, Node>
  /** The values of its top-level `const` declarations. */
  readonly constants: ReadonlyMap<string, Node>
  readonly exports: ReadonlyMap<string, Node | Binding>
  /** True if it may export names that are not listed. */
  readonly isOpaque: boolean
}

const modules = new Map<string, { readonly text: string; readonly module: Module }>()

/**
 * Parses a file. `root` is where `@/` points to, or the parent of `src`, which it may point to as well.
 *
 * @throws Error When the file cannot be parsed.
 */
export function moduleOf(file: string, root: string): Module {
  const text = readFileSync(file, 'utf8')
  const known = modules.get(file)
  if (known?.text === text && known.module.root === root) return known.module
  const module = collectNames(file, root, programOf(file, text))
  modules.set(file, { text, module })
  return module
}

function programOf(file: string, text: string): Program {
  const plugins: ParserPlugin[] = ['decorators']
  if (/\.[cm]?ts$/.test(file)) plugins.push('typescript')
  else if (file.endsWith('.tsx')) plugins.push('typescript', 'jsx')
  else plugins.push('jsx')
  try {
    return parse(text, { sourceType: 'unambiguous', allowUndeclaredExports: true, plugins }).program
  } catch (error) {
    throw new Error(`${file} cannot be parsed: ${String(error)}`, { cause: error })
  }
}

/** Collects what the statements of a file import, declare and export. */
function collectNames(file: string, root: string, program: Program): Module {
  const names: Names = {
    imports: new Map(),
    declarations: new Map(),
    constants: new Map(),
    exports: new Map(),
  }
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') addImports(names, statement)
    else if (statement.type.startsWith('Export')) addExports(names, statement)
    else addDeclarations(names, statement)
  }
  const isOpaque = names.exports.size === 0 || names.exports.has('*')
  return { file, root, program, ...names, isOpaque }
}

interface Names {
  readonly imports: Map<string, Binding>
  readonly declarations: Map<string, Node>
  readonly constants: Map<string, Node>
  readonly exports: Map<string, Node | Binding>
}

type StatementOf<Type> = Extract<Statement, { type: Type }>

function addImports({ imports }: Names, statement: StatementOf<'ImportDeclaration'>): void {
  if (statement.importKind === 'type') return
  const from = statement.source.value
  for (const specifier of statement.specifiers) {
    const { name: local } = specifier.local
    if (specifier.type === 'ImportSpecifier') {
      imports.set(local, { from, name: nameOf(specifier.imported) })
    } else {
      const name = specifier.type === 'ImportDefaultSpecifier' ? 'default' : '*'
      imports.set(local, { from, name })
    }
  }
}

/** Adds what a statement declares, and returns the identifiers. */
function addDeclarations({ declarations, constants }: Names, statement: Statement): Node[] {
  if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration') {
    if (!statement.id) return []
    declarations.set(statement.id.name, statement)
    return [statement.id]
  }
  if (statement.type !== 'VariableDeclaration') return []
  return statement.declarations.flatMap((declarator) => {
    const { id, init } = declarator
    if (id.type === 'Identifier' && init && statement.kind === 'const') constants.set(id.name, init)
    const identifiers = identifiersIn(id)
    for (const { name } of identifiers) declarations.set(name, declarator)
    return identifiers
  })
}

function addExports(names: Names, statement: Statement): void {
  const { exports } = names
  if (statement.type === 'ExportDefaultDeclaration') {
    const { declaration } = statement
    exports.set('default', declaration)
    if (/^(Function|Class)Declaration$/.test(declaration.type)) {
      addDeclarations(names, declaration as Statement)
    }
  } else if (statement.type === 'ExportAllDeclaration') {
    if (statement.exportKind === 'type') return
    exports.set('*', { from: statement.source.value, name: '*' })
  } else if (statement.type === 'ExportNamedDeclaration' && statement.exportKind !== 'type') {
    const { declaration, source } = statement
    for (const id of declaration ? addDeclarations(names, declaration) : []) {
      exports.set(nameOf(id), id)
    }
    for (const specifier of statement.specifiers) {
      const name = nameOf(specifier.exported)
      if (specifier.type !== 'ExportSpecifier') exports.set(name, specifier)
      else if (!source) exports.set(name, specifier.local)
      else exports.set(name, { from: source.value, name: nameOf(specifier.local) })
    }
  }
}

/** Finds the identifiers that a pattern binds. */
function identifiersIn(pattern: Node): (Node & { readonly name: string })[] {
  return [...nodesIn(pattern)].filter((node) => node.type === 'Identifier') as never
}

function nameOf(node: Node): string {
  const { name, value } = node as { name?: string; value?: string }
  return name ?? value ?? ''
}

/** Yields a node and all nodes below it. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const [key, value] of Object.entries(node)) {
    if (key.endsWith('Comments') || key === 'loc') continue
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child)) yield* nodesIn(child)
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

const ENDINGS = ['', '.ts', '.tsx', '.js', '.jsx', '.mts', '.mjs'].flatMap((ending) => [
  ending,
  `/index${ending}`,
])

/** Finds the project's own file that an import names, by a relative path or below `@/`. */
export function resolveImport({ file, root }: Module, from: string): Module | undefined {
  const bases = from.startsWith('@/')
    ? [join(root, from.slice(2)), join(root, 'src', from.slice(2))]
    : /^\.\.?(\/|$)/.test(from)
      ? [join(dirname(file), from)]
      : []
  const found = bases
    // In TypeScript, `./x.js` may stand for `./x.ts`.
    .flatMap((base) => [base, base.replace(/\.[cm]?jsx?$/, '')])
    .flatMap((base) => ENDINGS.map((ending) => base + ending))
    .find((path) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(path) && statSync(path).isFile())
  return found === undefined ? undefined : moduleOf(found, root)
}
