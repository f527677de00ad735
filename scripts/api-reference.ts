// Writes a page for each entry of each published package, from the declarations that tsc has emitted.
// It asks this repository's own compiler, whose interface is named `unstable` for now: TypeDoc and
// its like need the JavaScript compiler, which TypeScript 7 does not have. Run it by `npm run docs:api`.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { SyntaxKind, type Node } from 'typescript/unstable/ast'
import { API, SymbolFlags, type Checker, type Project, type Symbol } from 'typescript/unstable/sync'

const root = fileURLToPath(new URL('..', import.meta.url))

/** One entry of a package, such as `@sluice/core/http`. */
interface Entry {
  readonly name: string
  /** The page's name: `core-http.md`. */
  readonly page: string
  /** The declarations of what it exports, as an absolute path. */
  readonly types: string
  readonly exports: readonly Export[]
}

/** One exported name. */
interface Export {
  readonly name: string
  readonly kind: 'Functions' | 'Classes' | 'Values' | 'Types'
  /** Its declarations, without comments. */
  readonly code: string
  readonly doc: Doc
  readonly members: readonly Member[]
}

interface Member {
  readonly name: string
  readonly code: string
  readonly doc: Doc
}

interface Doc {
  readonly text: string
  readonly tags: readonly { readonly name: string; readonly text?: string | undefined }[]
}

/** Reads every entry of every published package. The packages have to be built. */
export function readEntries(): Entry[] {
  const entries = globSync('packages/*/package.json', { cwd: root }).toSorted().flatMap(entriesOf)
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openFiles: entries.map(({ types }) => types) })
    return entries.map(({ name, page, types }) => {
      const project = snapshot.getDefaultProjectForFile(types)
      const module = project?.program.getSourceFile(types)
      const symbol = module && project?.checker.getSymbolAtLocation(module)
      if (!project || !symbol) throw new Error(`${types} exports nothing: build the packages.`)
      const exports = project.checker.getExportsOfModule(symbol)
      const read = exports.map((exported) => readExport(exported, project))
      return { name, page, types, exports: read.toSorted((a, b) => a.name.localeCompare(b.name)) }
    })
  } finally {
    api.close()
  }
}

function entriesOf(path: string): Omit<Entry, 'exports'>[] {
  const manifest = JSON.parse(readFileSync(join(root, path), 'utf8')) as {
    name: string
    private?: boolean
    exports: Record<string, { types: string }>
  }
  if (manifest.private) return []
  return Object.entries(manifest.exports).map(([entry, { types }]) => {
    const name = `${manifest.name}${entry.slice(1)}`
    const page = `${name.replace('@sluice/', '').replaceAll('/', '-')}.md`
    return { name, page, types: join(root, dirname(path), types) }
  })
}

function readExport(exported: Symbol, project: Project): Export {
  const { checker } = project
  const isAlias = (exported.flags & SymbolFlags.Alias) !== 0
  const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
  const kind = kindOf(symbol.flags)
  const declarations = declarationsOf(symbol, project).map((node) =>
    withoutComments(node.getText()),
  )
  const members = kind === 'Types' || kind === 'Classes' ? membersOf(symbol, project) : []
  // A page lists an interface's members one by one; only what has no name has to be in the code.
  const isListed = (symbol.flags & SymbolFlags.Interface) !== 0 && members.length > 0
  const code = declarations.map((text) =>
    isListed && !/^ +(\(|<|\[|new )/m.test(text)
      ? text.replace(/\{\n[\s\S]*/, '{ /* … */ }')
      : text,
  )
  return { name: exported.name, kind, code: code.join('\n'), doc: docOf(symbol, checker), members }
}

function kindOf(flags: SymbolFlags): Export['kind'] {
  if (flags & SymbolFlags.Function) return 'Functions'
  if (flags & SymbolFlags.Class) return 'Classes'
  return flags & SymbolFlags.Variable ? 'Values' : 'Types'
}

/** Reads the fields and methods that our own code declares, inherited ones included. */
function membersOf(symbol: Symbol, project: Project): Member[] {
  const type = project.checker.getDeclaredTypeOfSymbol(symbol)
  if (type.isUnionType()) return []
  return project.checker.getPropertiesOfType(type).flatMap((property) => {
    const declarations = declarationsOf(property, project)
    if (declarations.length === 0 || property.name.startsWith('#')) return []
    const code = declarations.map((node) =>
      oneLine(withoutComments(node.getText())).replace(/^readonly |;$/g, ''),
    )
    return [{ name: property.name, code: code.join(' '), doc: docOf(property, project.checker) }]
  })
}

function declarationsOf(symbol: Symbol, project: Project): Node[] {
  const nodes = symbol.declarations.map((declaration) => declaration.resolve(project))
  const own = nodes.filter((node) => node?.getSourceFile().fileName.startsWith(`${root}packages/`))
  return own.flatMap((node) => (node ? [statementOf(node)] : []))
}

/** A variable's declaration stands in a list in a statement, which has the keywords. */
function statementOf(node: Node): Node {
  return node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node
}

function docOf(symbol: Symbol, checker: Checker): Doc {
  return { text: symbol.getDocumentationComment(checker), tags: symbol.getJsDocTags(checker) }
}

const withoutComments = (text: string): string => text.replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, '')
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** Writes a page for each entry, and a list of them, into `folder`, which it empties first. */
export async function writePages(entries: readonly Entry[], folder: string): Promise<void> {
  const config = await resolveConfig(fileURLToPath(import.meta.url))
  const write = async (page: string, text: string): Promise<void> =>
    writeFileSync(join(folder, page), await format(text, { ...config, parser: 'markdown' }))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await Promise.all(entries.map((entry) => write(entry.page, pageOf(entry))))
  const lines = entries.map(({ name, page, exports }) => {
    const names = exports.filter(({ kind }) => kind !== 'Types').map((exported) => exported.name)
    return `- [\`${name}\`](${page}): ${names.map((exported) => `\`${exported}\``).join(', ')}`
  })
  const about = 'Made from the docstrings by `npm run docs:api`. Types stand on the pages only.'
  await write('README.md', `# API reference\n\n${about}\n\n${lines.join('\n')}\n`)
}

function pageOf({ name, exports }: Entry): string {
  const sections = (['Functions', 'Classes', 'Values', 'Types'] as const).flatMap((kind) => {
    const ofKind = exports.filter((exported) => exported.kind === kind)
    return ofKind.length > 0 ? [`## ${kind}`].concat(ofKind.map(sectionOf)) : []
  })
  const [, folder = ''] = name.split('/')
  const about = `An entry of [\`@sluice/${folder}\`](../../packages/${folder}/README.md).`
  return `${[`# \`${name}\``, about, ...sections].join('\n\n')}\n`
}

function sectionOf({ name, kind, code, doc, members }: Export): string {
  // The code of a class shows its members.
  const listed = kind === 'Classes' ? members.filter((member) => member.doc.text) : members
  return [
    `### \`${name}\``,
    fenced(code.replaceAll(/^export (declare )?/gm, '')),
    doc.text,
    listed.map(memberLine).join('\n'),
    tagsOf(doc).join('\n'),
    ...texts(doc, 'example').map((text) => (/^See .*\.$/.test(text) ? text : fenced(text))),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function memberLine({ code, doc }: Member): string {
  const fence = code.includes('`') ? '``' : '`'
  const parts = [`- ${fence}${code}${fence}`, oneLine(doc.text), ...tagsOf(doc)]
  return parts.filter((part) => part !== '').join('\n  ')
}

/** The lines that tags add, in which the first word of some is a name. */
function tagsOf(doc: Doc): string[] {
  const named = (tag: string): string[] =>
    texts(doc, tag).map((text) => text.replace(/^(\S+)[\s-]*/, '`$1`: '))
  return [
    ...texts(doc, 'deprecated').map((text) => `- **Deprecated.** ${text}`),
    ...texts(doc, 'default').map((text) => `- **Default:** ${text}`),
    ...named('param').map((text) => `- ${text}`),
    ...named('throws').map((text) => `- **Throws** ${text}`),
  ].map(oneLine)
}

const texts = ({ tags }: Doc, tag: string): string[] =>
  tags.filter(({ name }) => name === tag).map(({ text = '' }) => text)

const fenced = (code: string): string => `\`\`\`ts\n${code}\n\`\`\``

// The packages alone use each other's internal entries.
if (import.meta.main) {
  const entries = readEntries().filter(({ name }) => !/\/internal(?:\/|$)/.test(name))
  await writePages(entries, join(root, 'apps/site/api'))
}
