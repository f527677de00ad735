/* The addresses that official clients and compatible providers have for the APIs that have prices. */
import type { Address } from './doors.ts'

const of =
  (api: Address['api'], model: string) =>
  (url: string): Address => ({ url: `https://${url}`, api, model })

const chat = (model: string) => of('openai-chat', model)

/** Chat completions. */
export const CHATS: readonly Address[] = [
  chat('gpt-4o')('api.openai.com/v1/chat/completions'),
  chat('gpt-5.4')('api.openai.com/v1/chat/completions'),
  chat('gpt-5.6-terra')('api.openai.com/v1/chat/completions'),
  chat('o4-mini')('api.openai.com/v1/chat/completions/'),
  chat('gpt-4o')('us.api.openai.com/v1/chat/completions'),
  chat('gpt-4o')('acme.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=1'),
  chat('gpt-4o')('acme.openai.azure.com/openai/v1/chat/completions'),
  chat('llama-3.3-70b-versatile')('api.groq.com/openai/v1/chat/completions'),
  chat('mistral-large-latest')('api.mistral.ai/v1/chat/completions'),
  chat('openai/gpt-4o')('openrouter.ai/api/v1/chat/completions'),
  chat('anthropic/claude-opus-4-6')('openrouter.ai/api/v1/chat/completions'),
  chat('deepseek-chat')('api.deepseek.com/chat/completions'),
  chat('grok-4')('api.x.ai/v1/chat/completions'),
  chat('gemini-2.5-flash')('generativelanguage.googleapis.com/v1beta/openai/chat/completions'),
  chat('command-a-03-2025')('api.cohere.ai/compatibility/v1/chat/completions'),
  chat('sonar')('api.perplexity.ai/chat/completions'),
  chat('kimi-k2')('api.moonshot.ai/v1/chat/completions'),
  chat('llama-3.3-70b-versatile')('api.together.xyz/v1/chat/completions'),
  chat('gpt-4o')('gateway.ai.cloudflare.com/v1/acme/main/openai/chat/completions'),
  chat('llama-3.3-70b-versatile')('vllm.example:8000/v1/chat/completions'),
  chat('gpt-4o')('api.openai.com/V1/CHAT/COMPLETIONS'),
]

export const RESPONSES: readonly Address[] = [
  of('openai-responses', 'gpt-4o')('api.openai.com/v1/responses'),
  of('openai-responses', 'gpt-5.4')('api.openai.com/v1/responses'),
  of('openai-responses', 'gpt-5.6-terra')('api.openai.com/v1/responses/'),
  of('openai-responses', 'gpt-4o')('acme.openai.azure.com/openai/v1/responses'),
  of('openai-responses', 'llama-3.3-70b-versatile')('api.groq.com/openai/v1/responses'),
]

export const COMPLETIONS: readonly Address[] = [
  of('openai-completions', 'gpt-3.5-turbo-instruct')('api.openai.com/v1/completions'),
  of('openai-completions', 'llama-3.3-70b-versatile')('vllm.example:8000/v1/completions'),
]

export const EMBEDDINGS: readonly Address[] = [
  of('openai-embeddings', 'text-embedding-3-small')('api.openai.com/v1/embeddings'),
  of('openai-embeddings', 'text-embedding-3-small')('acme.openai.azure.com/openai/v1/embeddings'),
]

export const MESSAGES: readonly Address[] = [
  of('anthropic-messages', 'claude-opus-4-6')('api.anthropic.com/v1/messages'),
  of('anthropic-messages', 'claude-sonnet-4-5')('api.anthropic.com/v1/messages?beta=true'),
  of(
    'anthropic-messages',
    'claude-sonnet-4-5',
  )('gateway.ai.cloudflare.com/v1/acme/anthropic/v1/messages'),
  of('anthropic-messages', 'deepseek-chat')('api.deepseek.com/anthropic/v1/messages'),
]
