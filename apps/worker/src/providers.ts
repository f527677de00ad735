import {
  ANTHROPIC,
  AZURE,
  DEEPSEEK,
  GEMINI,
  GROQ,
  MISTRAL,
  OPENAI,
  OPENROUTER,
  WORKERS_AI,
  XAI,
} from './providers/ready-made.ts'
import type { Aliases, Provider } from './providers/provider.ts'

/** The providers. One is on when its key is set. Add your own, and take out those that you do not want. */
export const PROVIDERS: readonly Provider[] = [
  OPENAI,
  ANTHROPIC,
  AZURE,
  DEEPSEEK,
  GEMINI,
  GROQ,
  MISTRAL,
  OPENROUTER,
  WORKERS_AI,
  XAI,
]

/**
 * Other names of models, such as `fast`: a name of a model, a list of them, or either by plan. Of a list, the first is
 * called that every budget and limit has room for.
 *
 * @example
 * { fast: 'gpt-6-luna', smart: { starter: ['gpt-6.2-sol', 'gpt-6-luna'], enterprise: 'claude-sonnet-5-5' } }
 */
export const ALIASES: Aliases = {}
