/* The calls of models in source text. */
import { boundValue, importedValue, isBinding, valueOf, type Value } from './literal.ts'
import { nameOf, nodes, nodesIn, type Binding, type Node, type SourceModule } from './module.ts'

/** Packages whose functions and classes call models. */
const CLIENTS =
  /^(?:openai|groq-sdk|cohere-ai|replicate|together-ai|ollama|@anthropic-ai\/(?:sdk|bedrock-sdk|vertex-sdk)|@google\/(?:genai|generative-ai)|@mistralai\/mistralai|@aws-sdk\/client-bedrock-runtime|@openrouter\/.+)$/

/** Packages of the AI SDK that run in browsers or call no model: https://ai-sdk.dev/docs/ai-sdk-ui/overview */
const NO_PROVIDERS =
  /^@ai-sdk\/(?:react|vue|svelte|angular|rsc|ui-utils|provider|provider-utils|codemod|devtools)$/

/** The functions and classes of `ai` that call a model: https://ai-sdk.dev/docs/reference/ai-sdk-core */
const CALLS =
  /^(?:(?:experimental_)?(?:generate|stream)(?:Text|Object|Image|Speech|Video)|embed(?:Many)?|rerank|(?:experimental_)?transcribe|(?:Experimental_|ToolLoop)Agent)$/

/** The addresses of model calls, also those of compatible providers: those of docs/upstream.md. */
const ENDPOINTS =
  /\/chat\/completions|:(?:g|streamG)enerateContent|api\.openai\.com\/v1\/(?!models)|api\.anthropic\.com\/v1\/messages/

/** Returns true if a file calls a model: by the client of a vendor, by the AI SDK, or by `fetch`. */
export const callsModel = (module: SourceModule): boolean =>
  [...nodesIn(module.program)].some((node) => isModelCall(module, node))

/** Returns true if a file calls a model itself, or by what it has from other files of the project. */
export const reachesModel = (module: SourceModule): boolean =>
  reaches({ module, node: module.program }, new Set())

function reaches({ module, node }: Value, visited: Set<Node>): boolean {
  if (visited.has(node)) return false
  visited.add(node)
  // A program also has what it exports on.
  const bindings = node === module.program ? [...module.exports.values()].filter(isBinding) : []
  if (bindings.some((binding) => leadsOn(boundValue(module, binding), visited))) return true
  return [...nodesIn(node)].some((item) => {
    if (item.type !== 'Identifier') return isModelCall(module, item)
    const declared = module.declarations.get(nameOf(item))
    const value = declared ? { module, node: declared } : importedValue(module, nameOf(item))
    return leadsOn(value, visited)
  })
}

const leadsOn = (value: Value | undefined, visited: Set<Node>): boolean =>
  value !== undefined && reaches(value, visited)

function isModelCall(module: SourceModule, node: Node): boolean {
  if (!/^(?:Call|New)Expression$/.test(node.type)) return false
  const callee = node['callee'] as Node
  const [url] = nodes(node['arguments'])
  if (nameOf(callee) === 'fetch' && url) return isEndpoint(valueOf(module, url).node)
  const { module: home, node: value } = valueOf(module, rootOf(callee))
  // A client of another file: `export const openai = new OpenAI()`.
  const made = /^(?:Call|New)Expression$/.test(value.type) ? rootOf(value['callee'] as Node) : value
  const binding = home.imports.get(nameOf(made))
  return made.type === 'Identifier' && binding !== undefined && isModel(binding)
}

const isEndpoint = (url: Node): boolean =>
  [...nodesIn(url)].some(({ type, value }) =>
    ENDPOINTS.test(type === 'TemplateElement' ? (value as { raw: string }).raw : String(value)),
  )

/** Returns the first part of `openai.chat.completions.create`. */
function rootOf(node: Node): Node {
  const { object } = node as Node & { readonly object?: Node }
  return node.type.endsWith('MemberExpression') && object ? rootOf(object) : node
}

function isModel({ from, name }: Binding): boolean {
  if (from === 'ai') return CALLS.test(name)
  if (from.startsWith('@ai-sdk/')) return !NO_PROVIDERS.test(from)
  // `APIError` and `toFile` of a client call none.
  return CLIENTS.test(from) && !/Error$|^to[A-Z]/.test(name)
}
