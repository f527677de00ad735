// Rows and days that the two public sources lack, or that one of them has too low, each with its page.
import type { ModelRows, Row } from './rows.ts'

/** Prices that a page states, and the day on which it did. */
export interface OwnRows {
  readonly asOf: string
  readonly source: string
  /** Names, separated by blanks, and their rows. */
  readonly rows: Readonly<Record<string, Row | ModelRows>>
}

const CLAUDE = 'https://platform.claude.com/docs/en'
const GEMINI = 'https://ai.google.dev/gemini-api/docs'
const BEDROCK = 'https://aws.amazon.com/bedrock/pricing/'

/** The rows of each vendor's table. They replace those of the sources. */
export const OWN_ROWS: Readonly<Record<string, readonly OwnRows[]>> = {
  anthropic: [
    {
      // Cache reads cost half of this before 2026-10-07.
      asOf: '2026-11-20',
      source: `${CLAUDE}/about-claude/pricing`,
      rows: {
        'claude-sonnet-5-5': [2, 0.1, 10, 2.5, 4],
        'claude-fable-5-2': [8, 0.2, 40, 10, 16],
      },
    },
    {
      asOf: '2026-11-20',
      source: `${CLAUDE}/models/haiku-5-5/overview`,
      rows: {
        'claude-haiku-5-5': {
          usual: [0.1, 0.01, 0.5, 0.125, 0.2],
          above: 100_000,
          long: [0.5, 0.05, 2.5, 0.625, 1],
        },
      },
    },
    {
      // With the beta of a longer context.
      asOf: '2025-09-01',
      source: `${CLAUDE}/about-claude/pricing`,
      rows: {
        'claude-sonnet-4 claude-sonnet-4-0 claude-4-sonnet': {
          usual: [3, 0.3, 15, 3.75, 6],
          above: 200_000,
          long: [6, 0.6, 22.5, 7.5, 12],
        },
      },
    },
  ],
  google: [
    {
      // From 2026-12-01 it is answered by `gemini-3.8-flash` at that price, which is 1.50 and 7.50 dollars from 2027.
      asOf: '2026-11-10',
      source: `${GEMINI}/deprecations`,
      rows: {
        'gemini-2.5-pro': { usual: [1.5, 0.15, 10], above: 200_000, long: [2.5, 0.25, 15] },
      },
    },
    {
      // The highest of the models that it may name.
      asOf: '2026-11-20',
      source: `${GEMINI}/pricing`,
      rows: { 'gemini-flash-lite-latest': [0.3, 0.03, 2.5] },
    },
  ],
  bedrock: [
    {
      asOf: '2026-11-20',
      source: BEDROCK,
      rows: {
        // As LiteLLM's table has them, too.
        'ai21.jamba-1-5-large': [2, null, 8],
        'ai21.jamba-1-5-mini': [0.2, null, 0.4],
        'cohere.command-r-plus': [3, null, 15],
        'cohere.command-r': [0.5, null, 1.5],
      },
    },
  ],
  deepseek: [
    {
      // The page lists neither any more. Calls of them may be answered by `deepseek-flash`.
      asOf: '2026-10-27',
      source: 'https://api-docs.deepseek.com/quick_start/pricing',
      rows: {
        'deepseek-chat': [0.3, 0.07, 1.2],
        'deepseek-v4-flash-vision-exp': [0.44, 0.014, 1.32],
      },
    },
  ],
  mistral: [
    {
      // Since Mistral Large 4.
      asOf: '2026-11-20',
      source: 'https://mistral.ai/pricing/api',
      rows: {
        'mistral-large-latest mistral-large-4-0': [0.7, 0.07, 2.1],
        'codestral-latest': [0.3, 0.03, 0.9],
        'magistral-medium-latest': [2, 0.2, 5],
      },
    },
  ],
  openai: [
    {
      // Beside the usual one, there is a cache for 12 hours.
      asOf: '2026-11-20',
      source: 'https://developers.openai.com/api/docs/pricing',
      rows: {
        'gpt-6.1-sol gpt-6.2-sol': {
          usual: [2, 0.1, 10, 2.5, 5],
          above: 271_999,
          long: [4, 0.2, 15, 5, 10],
        },
        'gpt-6.1-terra': {
          usual: [1, 0.05, 5, 1.25, 2.5],
          above: 271_999,
          long: [2, 0.1, 7.5, 2.5, 5],
        },
      },
    },
  ],
  xai: [
    {
      // A prompt of 200,000 tokens has the higher price.
      asOf: '2026-11-20',
      source: 'https://docs.x.ai/docs/models',
      rows: {
        'grok-4.7 grok-4.7-latest grok-latest': {
          usual: [2, 0.5, 6],
          above: 199_999,
          long: [4, 1, 12],
        },
        'grok-4.20-0309 grok-4.20-0309-reasoning grok-4.20-reasoning grok-4.20-reasoning-latest': {
          usual: [1.25, 0.2, 2.5],
          above: 199_999,
          long: [2.5, 0.4, 5],
        },
      },
    },
  ],
}

/** The last day of models that their vendors shut down, by table, with the page and the day of reading it. */
export const ENDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // https://developers.openai.com/api/docs/deprecations, as of 2026-10-28.
  openai: {
    '2026-10-23':
      'gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-4 gpt-4-turbo gpt-4o-2024-05-13 gpt-4.1-nano o1 o1-pro o3-mini o4-mini',
    '2026-12-11': 'gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro o3 o3-pro',
    '2027-01-14': 'gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini',
    '2027-04-01': 'gpt-5.1 gpt-5.3-codex gpt-5.4-nano',
  },
  // https://platform.claude.com/docs/en/about-claude/model-deprecations and models/sonnet-4-5/overview, as of 2026-11-20.
  anthropic: {
    '2026-02-19': 'claude-3-5-haiku claude-sonnet-3-7',
    '2026-06-15': 'claude-sonnet-4 claude-sonnet-4-0 claude-opus-4 claude-opus-4-0',
    '2026-08-05': 'claude-opus-4-1',
    '2026-11-30': 'claude-sonnet-4-5',
  },
  // https://ai.google.dev/gemini-api/docs/deprecations, as of 2026-11-10.
  google: {
    '2026-06-01': 'gemini-2.0-flash gemini-2.0-flash-lite',
    '2026-12-01': 'gemini-2.5-pro gemini-2.5-flash',
    '2027-05-07': 'gemini-3.1-flash-lite',
  },
}
