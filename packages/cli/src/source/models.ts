/* The calls of models in source text. */
import { valueOf } from './literal.ts'
import { nameOf, nodesIn, type Binding, type Node, type SourceModule } from './module.ts'

/** Packages whose functions and classes call models. */
const CLIENTS =
  /^(?:openai|groq-sdk|cohere-ai|replicate|together-ai|ollama|@anthropic-ai\/(?:sdk|bedrock-sdk|vertex-sdk)|@google\/(?:genai|generative-ai)|@mistralai\/mistralai|@aws-sdk\/client-bedrock-runtime|@openrouter\/.+)$/

/** Packages of the AI SDK that run in browsers or call no model: https://ai-sdk.dev/docs/ai-sdk-ui/overview */
const NO_PROVIDERS =
  /^@ai-sdk\/(?:react|vue|svelte|angular|rsc|ui-utils|provider|provider-utils|codemod|devtools)$/

/** The functions and classes of `ai` that call a model: https://ai-sdk.dev/docs/reference/ai-sdk-core */
const CALLS =
  /^(?:(?:experimental_)?(?:generate|stream)(?:Text|Object|Image|Speech|Video)|embed(?:Many)?|rerank|(?:experimental_)?transcribe|(?:Experimental_|ToolLoop)Agent)$/

/** Returns true if a file calls a model by the client of a vendor or by the AI SDK. */
export function callsModel(module: SourceModule): boolean {
  return [...nodesIn(module.program)].some((node) => {
    if (!/^(?:Call|New)Expression$/.test(node.type)) return false
    const root = rootOf(node['callee'] as Node)
    const { module: home, node: value } = valueOf(module, root)
    // A client of another file: `export const openai = new OpenAI()`.
    const made = /^(?:Call|New)Expression$/.test(value.type)
      ? rootOf(value['callee'] as Node)
      : value
    const binding = home.imports.get(nameOf(made))
    return made.type === 'Identifier' && binding !== undefined && isModel(binding)
  })
}

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
