// Written by `npm run prices` from @pydantic/genai-prices 0.1.8 (MIT). Do not edit.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Amazon Bedrock of 2026-09-23. The rows are in dollars per million tokens: input, cached input, output,
 * cache write, cache write for longer.
 *
 * https://aws.amazon.com/bedrock/pricing/
 */
export const BEDROCK_PRICES: Prices = /* @__PURE__ */ priceTable(
  '2026-09-23',
  'https://aws.amazon.com/bedrock/pricing/',
  {
    'amazon.nova-lite-v1:0': [0.06, 0.015, 0.24],
    'amazon.nova-micro-v1:0': [0.035, 0.00875, 0.14],
    'amazon.nova-premier-v1:0': [2.5, 0.625, 12.5],
    'amazon.nova-pro-v1:0': [0.8, 0.2, 3.2],
    'amazon.titan-embed-text-v1': [0.1, null, 0],
    'amazon.titan-text-express-v1': [0.2, null, 0.6],
    'amazon.titan-text-lite-v1 mistral.mistral-7b-instruct-v0:2': [0.15, null, 0.2],
    'anthropic.claude-fable-5 anthropic.claude-fable-5-v1 claude-fable-5 claude-fable-5-v1': [
      11, 1.1, 55, 13.75,
    ],
    'anthropic.claude-fable-5-1 anthropic.claude-fable-5-1-v1 claude-fable-5-1 claude-fable-5-1-v1':
      [11, 0.275, 55, 13.75],
    'anthropic.claude-haiku-4-5-20251001 claude-haiku-4-5-20251001': [1.1, 0.11, 5.5, 1.375],
    'anthropic.claude-opus-4-1-20250805 anthropic.claude-opus-4-20250514 claude-opus-4-1-20250805 claude-opus-4-20250514':
      [15, 1.5, 75, 18.75],
    'anthropic.claude-opus-4-5 anthropic.claude-opus-4-6 anthropic.claude-opus-4-7 anthropic.claude-opus-4-8 anthropic.claude-opus-5 anthropic.claude-opus-5-v1 au.anthropic.claude-opus-5 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5 claude-opus-5-v1 eu.anthropic.claude-opus-5 jp.anthropic.claude-opus-5 us.anthropic.claude-opus-5':
      [5.5, 0.55, 27.5, 6.875],
    'anthropic.claude-opus-5-5 anthropic.claude-opus-5-5-v1 au.anthropic.claude-opus-5-5 claude-opus-5-5 claude-opus-5-5-v1 eu.anthropic.claude-opus-5-5 jp.anthropic.claude-opus-5-5 us.anthropic.claude-opus-5-5':
      [4.4, 0.22, 22, 5.5, 8.8],
    'anthropic.claude-sonnet-4-20250514 claude-sonnet-4-20250514 global.anthropic.claude-sonnet-4-20250514-v1:0 global.anthropic.claude-sonnet-4-5-20250929-v1:0 global.anthropic.claude-sonnet-4-6-v1:0 regional.anthropic.claude-3-5-sonnet-20240620-v1:0 regional.anthropic.claude-3-5-sonnet-20241022-v2:0 regional.anthropic.claude-3-7-sonnet-20250219-v1:0 regional.anthropic.claude-3-sonnet-20240229-v1:0':
      [3, 0.3, 15, 3.75],
    'anthropic.claude-sonnet-4-5-20250929 anthropic.claude-sonnet-4-6 claude-sonnet-4-5-20250929 claude-sonnet-4-6':
      [3.3, 0.33, 16.5, 4.125],
    'anthropic.claude-sonnet-5 claude-sonnet-5': [2.2, 0.22, 11, 2.75],
    'deepseek.r1-v1:0': [1.35, null, 5.4],
    'global.amazon.nova-2-lite-v1:0': [0.3, 0.075, 2.5],
    'global.anthropic.claude-fable-5-1-v1:0': [10, 0.25, 50, 12.5],
    'global.anthropic.claude-fable-5-v1:0': [10, 1, 50, 12.5],
    'global.anthropic.claude-haiku-4-5-20251001-v1:0': [1, 0.1, 5, 1.25],
    'global.anthropic.claude-opus-4-5-v1:0 global.anthropic.claude-opus-4-6-v1:0 global.anthropic.claude-opus-4-7-v1:0 global.anthropic.claude-opus-4-8-v1:0 global.anthropic.claude-opus-5':
      [5, 0.5, 25, 6.25],
    'global.anthropic.claude-opus-5-5': [4, 0.2, 20, 5, 8],
    'global.anthropic.claude-sonnet-5-v1:0': [2, 0.2, 10, 2.5],
    'global.openai.gpt-5.6-luna': [[0.2, 0.02, 1.2, 0.25], 271999, [0.4, 0.04, 1.8, 0.5]],
    'global.openai.gpt-5.6-sol': [[4, 0.4, 20, 5], 271999, [8, 0.8, 30, 10]],
    'global.openai.gpt-5.6-terra': [[2, 0.2, 12, 2.5], 271999, [4, 0.4, 18, 5]],
    'google.gemma-3-12b-it': [0.09, null, 0.29],
    'google.gemma-3-27b-it': [0.23, null, 0.38],
    'google.gemma-3-4b-it': [0.04, null, 0.08],
    'gpt-5.6-luna openai.gpt-5.6-luna': [
      [0.22, 0.022, 1.32, 0.275],
      271999,
      [0.44, 0.044, 1.98, 0.55],
    ],
    'gpt-5.6-sol openai.gpt-5.6-sol': [[4.4, 0.44, 22, 5.5], 271999, [8.8, 0.88, 33, 11]],
    'gpt-5.6-terra openai.gpt-5.6-terra': [[2.2, 0.22, 13.2, 2.75], 271999, [4.4, 0.44, 19.8, 5.5]],
    'meta.llama3-1-70b-instruct-v1:0 meta.llama3-2-90b-instruct-v1:0 meta.llama3-3-70b-instruct-v1:0':
      [0.72, null, 0.72],
    'meta.llama3-1-8b-instruct-v1:0': [0.22, null, 0.22],
    'meta.llama3-2-11b-instruct-v1:0': [0.16, null, 0.16],
    'meta.llama3-2-1b-instruct-v1:0 mistral.ministral-3-3b-instruct': [0.1, null, 0.1],
    'meta.llama3-2-3b-instruct-v1:0 mistral.ministral-3-8b-instruct': [0.15, null, 0.15],
    'meta.llama3-70b-instruct-v1:0': [2.65, null, 3.5],
    'meta.llama3-8b-instruct-v1:0': [0.3, null, 0.6],
    'meta.llama4-maverick-17b-instruct-v1:0': [0.24, null, 0.97],
    'meta.llama4-scout-17b-instruct-v1:0': [0.17, null, 0.66],
    'mistral.devstral-2-123b': [0.4, null, 2],
    'mistral.magistral-small-2509 mistral.mistral-large-3-675b-instruct': [0.5, null, 1.5],
    'mistral.ministral-3-14b-instruct': [0.2, null, 0.2],
    'mistral.mistral-large-2402-v1:0': [4, null, 12],
    'mistral.mistral-small-2402-v1:0': [1, null, 3],
    'mistral.mixtral-8x7b-instruct-v0:1': [0.45, null, 0.7],
    'mistral.pixtral-large-2502-v1:0': [2, null, 6],
    'mistral.voxtral-mini-3b-2507': [0.04, null, 0.04],
    'mistral.voxtral-small-24b-2507': [0.1, null, 0.3],
    'nvidia.nemotron-nano-3-30b:0': [0.06, null, 0.24],
    'nvidia.nemotron-nano-9b-v2:0': [0.06, null, 0.23],
    'nvidia.nemotron-super-3-120b:0': [0.15, null, 0.65],
    'openai.gpt-5.4': [2.75, 0.275, 16.5],
    'openai.gpt-5.5': [5.5, 0.55, 33],
    'openai.gpt-oss-120b-1:0 qwen.qwen3-32b-v1:0 qwen.qwen3-coder-30b-a3b-v1:0': [0.15, null, 0.6],
    'openai.gpt-oss-20b-1:0': [0.07, null, 0.3],
    'qwen.qwen3-coder-480b-a35b-v1:0': [0.45, null, 1.8],
    'qwen.qwen3-vl-235b-a22b-v1:0': [0.53, null, 2.66],
    'regional.anthropic.claude-3-5-haiku-20241022-v1:0': [0.8, 0.08, 4, 1],
    'regional.anthropic.claude-3-haiku-20240307-v1:0': [0.25, null, 1.25],
    'regional.anthropic.claude-3-opus-20240229-v1:0': [15, null, 75],
    'writer.palmyra-x4-v1:0': [2.5, null, 10],
    'writer.palmyra-x5-v1:0': [0.6, null, 6],
  },
)
