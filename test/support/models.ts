/**
 * The models that README, docs, examples, demo and gateway name: current ones, with a price in `LIST_PRICES`. To change
 * one, change it here and where `test/docs/models.test.ts` finds it. OpenAI's and Anthropic's pages of deprecations
 * announced no end of them on 2026-11-28:
 * https://developers.openai.com/api/docs/deprecations and
 * https://platform.claude.com/docs/en/about-claude/model-deprecations
 */
export const MODELS = {
  openai: 'gpt-6.2-sol',
  openaiSmall: 'gpt-6-luna',
  anthropic: 'claude-sonnet-5-5',
  anthropicSmall: 'claude-haiku-5-5',
} as const
