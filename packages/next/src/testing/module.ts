import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, type ParserPlugin } from '@babel/parser'

type Program = ReturnType<typeof parse>['program']
type Statement = Program['body'][number]
/** A node of a syntax tree; its kind tells what else it has. */
export interface Node {
  readonly type: string
}

/** A name in another module. `*` is all of it. */
export interface Binding {
  readonly from: string
  readonly name: string
}

/** A source file by what it imports, declares and exports. */
export interface Module {
  readonly file: string
  readonly root: string
  readonly program: Program
  readonly imports: ReadonlyMap<string, Binding>
  /** Everything declared at its top level. */
  readonly declarations: ReadonlyMap<string, Node>
  /** Values of what is declared there as `const`, and so never changes. */
  readonly constants: ReadonlyMap<string, Node>
  readonly exports: ReadonlyMap<string, Node | Binding>
  /** Returns true if it may export what it does not name. */
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
  const module = read(file, root, programOf(file, text))
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

function read(file: string, root: string, program: Program): Module {
  const imports = new Map<string, Binding>()
  const declarations = new Map<string, Node>()
  const constants = new Map<string, Node>()
  const exports = new Map<string, Node | Binding>()

  /** Notes what a statement declares, and returns the names. */
  function declare(statement: Statement): Node[] {
    if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration') {
      if (!statement.id) return []
      declarations.set(statement.id.name, statement)
      return [statement.id]
    }
    if (statement.type !== 'VariableDeclaration') return []
    return statement.declarations.flatMap((declarator) => {
      const { id, init } = declarator
      if (id.type === 'Identifier' && init && statement.kind === 'const') {
        constants.set(id.name, init)
      }
      const names = namesIn(id)
      for (const name of names) declarations.set(name.name, declarator)
      return names
    })
  }

  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') {
      if (statement.importKind === 'type') continue
      for (const specifier of statement.specifiers) {
        const from = statement.source.value
        const name =
          specifier.type === 'ImportSpecifier'
            ? nameOf(specifier.imported)
            : specifier.type === 'ImportDefaultSpecifier'
              ? 'default'
              : '*'
        imports.set(specifier.local.name, { from, name })
      }
    } else if (statement.type === 'ExportAllDeclaration') {
      if (statement.exportKind === 'type') continue
      exports.set('*', { from: statement.source.value, name: '*' })
    } else if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration } = statement
      exports.set('default', declaration)
      if (declaration.type === 'FunctionDeclaration' || declaration.type === 'ClassDeclaration') {
        declare(declaration)
      }
    } else if (statement.type === 'ExportNamedDeclaration') {
      if (statement.exportKind === 'type') continue
      for (const id of statement.declaration ? declare(statement.declaration) : []) {
        exports.set(nameOf(id), id)
      }
      for (const specifier of statement.specifiers) {
        const name = nameOf(specifier.exported)
        const from = statement.source?.value
        if (specifier.type !== 'ExportSpecifier') exports.set(name, specifier)
        else if (from === undefined) exports.set(name, specifier.local)
        else exports.set(name, { from, name: nameOf(specifier.local) })
      }
    } else declare(statement)
  }
  const isOpaque = exports.size === 0 || exports.has('*')
  return { file, root, program, imports, declarations, constants, exports, isOpaque }
}

/** The names that a pattern binds. */
function namesIn(pattern: Node): (Node & { readonly name: string })[] {
  return [...nodesIn(pattern)].filter((node) => node.type === 'Identifier') as never
}

function nameOf(node: Node): string {
  const { name, value } = node as { name?: string; value?: string }
  return name ?? value ?? ''
}

/** A node and all below it. */
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
    // `./x.js` is how TypeScript has `./x.ts` written.
    .flatMap((base) => [base, base.replace(/\.[cm]?jsx?$/, '')])
    .flatMap((base) => ENDINGS.map((ending) => base + ending))
    .find((path) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(path) && statSync(path).isFile())
  return found === undefined ? undefined : moduleOf(found, root)
}
