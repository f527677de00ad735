/* The fields of OpenAI's Responses API. */
import {
  EXTENSIONS,
  maxima,
  SCHEMA,
  URL,
  WORDS,
  wrongMaxima,
  type Fields,
  type Rows,
} from './shared.ts'

const item = (...content: unknown[]): Fields => ({ input: [{ role: 'user', content }] })
const responseTool = { type: 'function', name: 'weather', parameters: SCHEMA, strict: true }

export const RESPONSES_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_output_tokens'),
  'a maximum of another format': { max_tokens: 70 },
  instructions: { instructions: WORDS.repeat(40) },
  'input as items': item({ type: 'input_text', text: WORDS }),
  tools: { tools: [responseTool], tool_choice: 'auto', max_tool_calls: 3 },
  'tool results': {
    tools: [responseTool],
    input: [
      { role: 'user', content: 'How is the weather?' },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: 'c', output: 'Sunny. '.repeat(200) },
    ],
  },
  reasoning: {
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
  },
  text: { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA }, verbosity: 'low' } },
  'store: false': { store: false, truncation: 'auto', metadata: { job: 'a' } },
  'service_tier: default': { service_tier: 'default' },
  'background: false': { background: false },
  'tools that the client runs': {
    tools: [{ type: 'local_shell' }, { type: 'apply_patch' }, { type: 'computer' }],
  },
  'reasoning in full': {
    input: [
      { role: 'user', content: WORDS },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAB'.repeat(99) },
    ],
  },
}

export const RESPONSES_MORE: Rows = {
  ...wrongMaxima('max_output_tokens'),
  ...EXTENSIONS,
  'a picture': item({ type: 'input_image', image_url: URL }),
  'reasoning.mode: pro': { reasoning: { mode: 'pro', effort: 'high' } },
  'a picture without a type': item({ image_url: URL }),
  'a picture by its id': item({ type: 'input_image', file_id: 'file_1' }),
  'a file': item({ type: 'input_file', file_id: 'file_1' }),
  'a file at an address': item({ type: 'input_file', file_url: URL }),
  'an item by its id': { input: [{ type: 'item_reference', id: 'msg_1' }] },
  'an item by its id alone': { input: [{ id: 'msg_1' }] },
  'reasoning by its id': { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] },
  'an answer by its id': { input: [{ type: 'message', id: 'msg_1', role: 'assistant' }] },
  'the call of a search by its id': { input: [{ type: 'web_search_call', id: 'ws_1' }] },
  previous_response_id: { previous_response_id: 'resp_1' },
  'conversation by its id': { conversation: 'conv_1' },
  'conversation as an object': { conversation: { id: 'conv_1' } },
  'background: true': { background: true },
  'a web search': { tools: [{ type: 'web_search' }] },
  'a code interpreter': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  'a file search': { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
  'an image tool': { tools: [{ type: 'image_generation' }] },
  'an MCP server': {
    tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://mcp.example' }],
  },
  'a stored prompt': { prompt: { id: 'pmpt_1', variables: { a: 'b' } } },
  messages: { messages: [{ role: 'user', content: WORDS.repeat(99) }] },
  'n: 9': { n: 9 },
}
