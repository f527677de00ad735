/* The fields of each API that cost tokens or money, from the vendors' references. */
import type { ModelApi } from '@sluice/ai'
import { CHAT_MORE, CHAT_SENT } from './chat.ts'
import { MESSAGES_MORE, MESSAGES_SENT } from './messages.ts'
import { COMPLETIONS_MORE, COMPLETIONS_SENT, EMBEDDINGS_MORE, EMBEDDINGS_SENT } from './prompts.ts'
import { RESPONSES_MORE, RESPONSES_SENT } from './responses.ts'
import { said, WORDS, type ApiTable } from './shared.ts'

export const TABLES: Readonly<Record<ModelApi, ApiTable>> = {
  'openai-chat': { question: said(WORDS), tokensOnly: CHAT_SENT, costsMore: CHAT_MORE },
  'openai-responses': {
    question: { input: WORDS },
    tokensOnly: RESPONSES_SENT,
    costsMore: RESPONSES_MORE,
  },
  'openai-completions': {
    question: { prompt: WORDS },
    tokensOnly: COMPLETIONS_SENT,
    costsMore: COMPLETIONS_MORE,
  },
  'openai-embeddings': {
    question: { input: WORDS },
    tokensOnly: EMBEDDINGS_SENT,
    costsMore: EMBEDDINGS_MORE,
  },
  'anthropic-messages': {
    question: said(WORDS),
    tokensOnly: MESSAGES_SENT,
    costsMore: MESSAGES_MORE,
  },
}
