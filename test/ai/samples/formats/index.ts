import { BEDROCK } from './bedrock.ts'
import { COHERE } from './cohere.ts'
import { GEMINI } from './gemini.ts'
import { OLLAMA } from './ollama.ts'
import { CHAT, DEEPSEEK, GROQ, MESSAGES, MOONSHOT, RESPONSES } from './openai-like.ts'
import type { Provider } from './sample.ts'
import { UI_MESSAGE_STREAM } from './ui-message-stream.ts'
import { WORKERS_AI } from './workers-ai.ts'

/** The answers of each provider, by its name in `docs/call-charges.md`. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  'OpenAI, chat completions': CHAT,
  'OpenAI, responses': RESPONSES,
  'Anthropic, messages': MESSAGES,
  Groq: GROQ,
  DeepSeek: DEEPSEEK,
  Moonshot: MOONSHOT,
  'Gemini API, Vertex AI': GEMINI,
  'Amazon Bedrock': BEDROCK,
  'Cohere, v2 and v1': COHERE,
  'Workers AI': WORKERS_AI,
  Ollama: OLLAMA,
  'AI SDK, UI message stream': UI_MESSAGE_STREAM,
}
