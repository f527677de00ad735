/* The variables that a project's code gives to Sluice. */
import { callsOfSluice, type SluiceCall } from './adapters.ts'
import { propertyOf, valueOf } from './literal.ts'
import { nameOf, nodes, nodesIn, textIn, type Node, type SourceModule } from './module.ts'
import { modulesWith, type ProjectSource } from './project-source.ts'

export interface VariableRead {
  readonly variable: string
  /** The option: `secret`, or `url` and `token` of a store. */
  readonly option: string
  /** The file that reads it. */
  readonly path: string
}

const OPTIONS = ['secret', 'secrets', 'url', 'token']

/** Finds the variables of secrets and stores. One with a default of its own is left out. */
export const variableReads = (source: ProjectSource): VariableRead[] =>
  modulesWith(source, (text) => text.includes('@sluice/')).flatMap((module) =>
    callsOfSluice(module).flatMap((call) => readsOfCall(module, call)),
  )

function readsOfCall(module: SourceModule, { node, name }: SluiceCall): VariableRead[] {
  const args = nodes(node['arguments'])
  const reads = args.flatMap((argument) => readsIn(module, argument))
  if (name !== 'upstash' || reads.length > 0 || !mayHaveDefaults(args[0])) return reads
  return ['url', 'token'].map((option) => upstashRead(module.path, option))
}

const upstashRead = (path: string, option: string): VariableRead => ({
  variable: `UPSTASH_REDIS_REST_${option.toUpperCase()}`,
  option,
  path,
})

const mayHaveDefaults = (options: Node | undefined): boolean =>
  !options ||
  ['url', 'token'].every((name) => {
    const { node, isCertain } = propertyOf(options, name)
    return !node && isCertain
  })

function readsIn(module: SourceModule, argument: Node): VariableRead[] {
  const { module: home, node: options } = valueOf(module, argument)
  return OPTIONS.flatMap((option) => {
    const { node } = propertyOf(options, option)
    return node
      ? variablesIn(home, node).map((variable) => ({ variable, option, path: home.path }))
      : []
  })
}

/** Returns the variables in an expression, such as `() => process.env.JWT_SECRET`. */
function variablesIn(module: SourceModule, node: Node): string[] {
  const variables = new Set<string>()
  const optional = new Set<string>()
  for (const item of nodesIn(node)) {
    const variable = variableOf(module, item)
    if (variable !== undefined) variables.add(variable)
    const left = hasDefault(item) ? variableOf(module, item['left'] as Node) : undefined
    if (left !== undefined) optional.add(left)
  }
  return [...variables].filter((variable) => !optional.has(variable))
}

/** Returns true for `process.env.X ?? 'text'`, but not for an empty text, which pleases the compiler. */
function hasDefault(node: Node): boolean {
  const right = node.type === 'LogicalExpression' ? (node['right'] as Node) : undefined
  return right !== undefined && textIn(right) !== '' && nameOf(right) !== 'undefined'
}

/** Returns the variable of `process.env.X`, `env.X`, `import.meta.env['X']`, or of a name that is imported as such. */
function variableOf(module: SourceModule, node: Node): string | undefined {
  if (node.type === 'Identifier') {
    const binding = module.imports.get(nameOf(node))
    const isVariable = /^(?:\$env\/static\/private|astro:env\/server)$/.test(binding?.from ?? '')
    return isVariable ? binding?.name : undefined
  }
  if (!/^(?:Optional)?MemberExpression$/.test(node.type)) return undefined
  const { object, property } = node as Node & { object: Node; property: Node }
  const name = node['computed'] ? textIn(property) : nameOf(property)
  const isEnv = nameOf(object) === 'env' || nameOf(object['property']) === 'env'
  return isEnv && name !== undefined && /^[A-Z][A-Z0-9_]*$/.test(name) ? name : undefined
}
