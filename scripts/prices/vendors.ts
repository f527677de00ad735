// The vendors whose prices have a table, and what is particular about each.
import { bedrockNames } from '../../packages/ai/src/prices/bedrock-names.ts'
import { googleNames } from '../../packages/ai/src/prices/google-names.ts'
import { spellingsOf as commonSpellings } from '../../packages/ai/src/model-name.ts'

/** The day on which this version of the package was published. */
export const PUBLISHED = { version: '0.1.8', asOf: '2026-09-23' }

interface Vendor {
  /** Its id in the package. */
  readonly id: string
  /** Its name in the docs. */
  readonly name: string
  /** The function of packages/ai that knows the spellings of its models. @default that of all vendors */
  readonly rule?: 'bedrockNames' | 'googleNames'
}

/** The vendors by the name of their table's file. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: { id: 'openai', name: 'OpenAI' },
  anthropic: { id: 'anthropic', name: 'Anthropic' },
  google: { id: 'google', name: 'Google', rule: 'googleNames' },
  bedrock: { id: 'aws', name: 'Amazon Bedrock', rule: 'bedrockNames' },
  cohere: { id: 'cohere', name: 'Cohere' },
  deepseek: { id: 'deepseek', name: 'DeepSeek' },
  groq: { id: 'groq', name: 'Groq' },
  mistral: { id: 'mistral', name: 'Mistral' },
  moonshot: { id: 'moonshotai', name: 'Moonshot' },
  'workers-ai': { id: 'cloudflare', name: 'Workers AI' },
  xai: { id: 'x-ai', name: 'xAI' },
}

/** Returns the function that returns the spellings of a vendor's model. */
export function spellingsOf(file: string): (model: string) => string[] {
  const { rule } = VENDORS[file] ?? {}
  return rule ? { bedrockNames, googleNames }[rule] : commonSpellings
}

/** Names of models that a vendor's page lists, and its day. The package knows them by a pattern only. */
export const IDS: Readonly<
  Record<string, { readonly asOf: string; readonly source: string; readonly ids: string }>
> = {
  google: {
    asOf: '2026-11-28',
    source: 'https://ai.google.dev/gemini-api/docs/models',
    ids: `gemini-2.0-flash gemini-2.0-flash-001 gemini-2.0-flash-lite gemini-2.0-flash-lite-001 gemini-2.5-flash
      gemini-2.5-flash-lite gemini-2.5-flash-lite-preview-09-2025 gemini-2.5-flash-preview-09-2025
      gemini-2.5-pro`,
  },
  bedrock: {
    asOf: '2026-11-28',
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html',
    ids: `amazon.nova-premier-v1:0 amazon.titan-embed-text-v1 anthropic.claude-3-5-haiku-20241022-v1:0
      anthropic.claude-3-5-sonnet-20240620-v1:0 anthropic.claude-3-5-sonnet-20241022-v2:0
      anthropic.claude-3-7-sonnet-20250219-v1:0 anthropic.claude-3-haiku-20240307-v1:0
      anthropic.claude-opus-4-20250514-v1:0 anthropic.claude-opus-5 anthropic.claude-sonnet-4-20250514-v1:0
      deepseek.r1-v1:0 google.gemma-3-12b-it google.gemma-3-27b-it google.gemma-3-4b-it
      meta.llama3-2-11b-instruct-v1:0 meta.llama3-2-1b-instruct-v1:0 meta.llama3-2-3b-instruct-v1:0
      meta.llama3-2-90b-instruct-v1:0 meta.llama3-70b-instruct-v1:0 meta.llama3-8b-instruct-v1:0
      mistral.mistral-7b-instruct-v0:2 mistral.mistral-large-2402-v1:0 mistral.mistral-small-2402-v1:0
      mistral.mixtral-8x7b-instruct-v0:1`,
  },
}
