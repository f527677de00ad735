/* Providers with their addresses and the pages that tell them. docs/facts.md says when each page was read. */
import { LIST_PRICES } from '@sluice/ai'
import { ANTHROPIC_PRICES } from '@sluice/ai/prices/anthropic'
import { OPENAI_PRICES } from '@sluice/ai/prices/openai'
import type { Provider } from './provider.ts'

/** https://developers.openai.com/api/reference */
export const OPENAI: Provider = {
  id: 'openai',
  apis: ['openai-chat', 'openai-responses', 'openai-embeddings'],
  url: 'https://api.openai.com/v1',
  key: 'OPENAI_API_KEY',
  // They know the most output of each model, too.
  prices: LIST_PRICES,
  models: [...OPENAI_PRICES.models().keys()],
}

/** https://platform.claude.com/docs/en/api/messages */
export const ANTHROPIC: Provider = {
  id: 'anthropic',
  apis: ['anthropic-messages', 'anthropic-count-tokens'],
  url: 'https://api.anthropic.com',
  auth: 'x-api-key',
  key: 'ANTHROPIC_API_KEY',
  prices: LIST_PRICES,
  models: [...ANTHROPIC_PRICES.models().keys()],
}
