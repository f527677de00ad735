/* Fields that several APIs have, and rows of them: each row is one body. */

export type Fields = Readonly<Record<string, unknown>>

/** Rows of fields that are added to a question, or a whole body as text, with `MODEL` for its model. */
export type Rows = Readonly<Record<string, Fields | string>>

export interface ApiTable {
  readonly question: Fields
  /** Cost nothing beside the tokens that are counted: each is sent, and charged right. */
  readonly tokensOnly: Rows
  /** Cost more, or hide what they cost: each is refused, or charged right. */
  readonly costsMore: Rows
}

export const WORDS = 'Why is the sky blue, and the grass not? Pourquoi ? なぜ空は青いのですか。🌍 '
export const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
}
export const URL = 'https://pictures.example/a.png'
export const DATA = `data:image/png;base64,${'iVBORw0KGgo'.repeat(20)}`
export const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' }

export const user = (...content: unknown[]): Fields => ({ messages: [{ role: 'user', content }] })
export const said = (text: string): Fields => ({ messages: [{ role: 'user', content: text }] })

/** Maxima, as every API with output takes them. */
export const maxima = (name: string): Rows => ({
  [`${name}: 1`]: { [name]: 1 },
  [`${name}: 100`]: { [name]: 100 },
  [`${name}: 4096`]: { [name]: 4_096 },
  [`${name}: 1000000`]: { [name]: 1_000_000 },
  [`${name}: null`]: { [name]: null },
})
/** Values that are no maximum. */
export const wrongMaxima = (name: string): Rows => ({
  [`${name}: 0`]: { [name]: 0 },
  [`${name}: -1`]: { [name]: -1 },
  [`${name}: 1.5`]: { [name]: 1.5 },
  [`${name}: 1e21`]: { [name]: 1e21 },
  [`${name}: '9'`]: { [name]: '9' },
  [`${name}: [9]`]: { [name]: [9] },
})

/** Fields that gateways and other vendors add to OpenAI's formats. */
export const EXTENSIONS: Rows = {
  'service_tier: auto': { service_tier: 'auto' },
  'service_tier: priority': { service_tier: 'priority' },
  'service_tier: fast': { service_tier: 'fast' },
  'service_tier: unknown': { service_tier: 'of tomorrow' },
  models: { models: ['gpt-4o', 'claude-opus-4-6'] },
  fallbacks: { fallbacks: ['claude-opus-4-6'] },
  plugins: { plugins: [{ id: 'web' }] },
  'provider order': { provider: { order: ['azure'], sort: 'latency' } },
  search_parameters: { search_parameters: { mode: 'on' } },
  search_settings: { search_settings: { country: 'fr' } },
  compound_custom: { compound_custom: { tools: { enabled_tools: ['web_search'] } } },
  agent_count: { agent_count: 4 },
  mcp_servers: { mcp_servers: [{ type: 'url', name: 'a', url: 'https://mcp.example' }] },
  container: { container: 'container_1' },
  context_management: { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
  'speed: fast': { speed: 'fast' },
  extra_body: { extra_body: { service_tier: 'priority' } },
}
