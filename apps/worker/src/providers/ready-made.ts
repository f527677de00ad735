/* Providers with their addresses and the pages that tell them. docs/facts.md says when each page was read. */
import { definePrices, LIST_PRICES } from '@sluice/ai'
import { ANTHROPIC_PRICES } from '@sluice/ai/prices/anthropic'
import { AZURE_PRICES } from '@sluice/ai/prices/azure'
import { DEEPSEEK_PRICES } from '@sluice/ai/prices/deepseek'
import { GOOGLE_PRICES } from '@sluice/ai/prices/google'
import { GROQ_PRICES } from '@sluice/ai/prices/groq'
import { MISTRAL_PRICES } from '@sluice/ai/prices/mistral'
import { OPENAI_PRICES } from '@sluice/ai/prices/openai'
import { WORKERS_AI_PRICES } from '@sluice/ai/prices/workers-ai'
import { XAI_PRICES } from '@sluice/ai/prices/xai'
import type { Provider } from './provider.ts'

/**
 * https://developers.openai.com/api/reference, and of a project's setting of the tier
 * https://developers.openai.com/api/docs/guides/fast-mode
 */
export const OPENAI: Provider = {
  id: 'openai',
  apis: ['openai-chat', 'openai-responses', 'openai-embeddings'],
  url: 'https://api.openai.com/v1',
  key: 'OPENAI_API_KEY',
  // They know the most output of each model, too.
  prices: LIST_PRICES,
  models: [...OPENAI_PRICES.models().keys()],
  hasTierSetting: true,
  // Codex says in it where a call comes from: codex-rs/codex-api/src/common.rs of https://github.com/openai/codex
  allowFields: ['client_metadata'],
}

/** https://platform.claude.com/docs/en/api/messages */
export const ANTHROPIC: Provider = {
  id: 'anthropic',
  apis: ['anthropic-messages', 'anthropic-count-tokens'],
  url: 'https://api.anthropic.com',
  key: 'ANTHROPIC_API_KEY',
  prices: LIST_PRICES,
  models: [...ANTHROPIC_PRICES.models().keys()],
}

/**
 * It takes the prices of the providers behind it, and adds a fee to what you pay in. List the models to offer, with their
 * prices, by `{ ...OPENROUTER, prices: definePrices({ … }) }`.
 *
 * https://openrouter.ai/docs/quick-start, https://openrouter.ai/docs/faq; streams tell their usage without being
 * asked: https://openrouter.ai/docs/use-cases/usage-accounting; errors:
 * https://openrouter.ai/docs/api/reference/errors-and-debugging
 */
export const OPENROUTER: Provider = {
  id: 'openrouter',
  apis: ['openai-chat'],
  url: 'https://openrouter.ai/api/v1',
  key: 'OPENROUTER_API_KEY',
  prices: definePrices({}),
}

/** https://console.groq.com/docs/openai */
export const GROQ: Provider = {
  id: 'groq',
  apis: ['openai-chat', 'openai-responses'],
  url: 'https://api.groq.com/openai/v1',
  key: 'GROQ_API_KEY',
  prices: GROQ_PRICES,
}

/** https://docs.mistral.ai/api, which tells the usage of every stream: https://docs.mistral.ai/api/endpoint/chat */
export const MISTRAL: Provider = {
  id: 'mistral',
  apis: ['openai-chat', 'openai-embeddings'],
  url: 'https://api.mistral.ai/v1',
  key: 'MISTRAL_API_KEY',
  prices: MISTRAL_PRICES,
  includeUsage: false,
}

/**
 * https://api-docs.deepseek.com/quick_start/error_codes, and for Anthropic's clients
 * https://api-docs.deepseek.com/guides/anthropic_api
 */
export const DEEPSEEK: Provider = {
  id: 'deepseek',
  apis: { 'openai-chat': '/chat/completions', 'anthropic-messages': '/anthropic/v1/messages' },
  url: 'https://api.deepseek.com',
  key: 'DEEPSEEK_API_KEY',
  prices: DEEPSEEK_PRICES,
}

/** https://docs.x.ai/api, https://docs.x.ai/developers/model-capabilities/text/generate-text */
export const XAI: Provider = {
  id: 'xai',
  apis: ['openai-chat', 'openai-responses'],
  url: 'https://api.x.ai/v1',
  key: 'XAI_API_KEY',
  prices: XAI_PRICES,
}

/** https://ai.google.dev/gemini-api/docs/openai */
export const GEMINI: Provider = {
  id: 'gemini',
  apis: ['openai-chat', 'openai-embeddings'],
  url: 'https://generativelanguage.googleapis.com/v1beta/openai',
  key: 'GEMINI_API_KEY',
  prices: GOOGLE_PRICES,
  // Its table also has the models of others on Vertex AI.
  models: [...GOOGLE_PRICES.models().keys()].filter((name) => name.startsWith('gemini-')),
}

/**
 * A model is a deployment. Where yours is not named after its model, `models` maps the model to it. The addresses that
 * name a deployment in the path need `apis` and `query`, with an `api-version`.
 *
 * https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle, and for the header
 * https://learn.microsoft.com/en-us/training/modules/build-language-solution-azure-openai/3-use-openai-rest
 */
export const AZURE: Provider = {
  id: 'azure',
  apis: ['openai-chat', 'openai-responses', 'openai-embeddings'],
  url: 'https://<resource>.openai.azure.com/openai/v1',
  auth: 'api-key',
  key: 'AZURE_API_KEY',
  prices: AZURE_PRICES,
}

/** https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility */
export const WORKERS_AI: Provider = {
  id: 'workers-ai',
  apis: ['openai-chat', 'openai-responses', 'openai-embeddings'],
  url: 'https://api.cloudflare.com/client/v4/accounts/<account>/ai/v1',
  key: 'WORKERS_AI_API_KEY',
  prices: WORKERS_AI_PRICES,
}
