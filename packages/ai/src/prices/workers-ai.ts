// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Workers AI. The rows are in dollars per million tokens: input, cached input, output, cache write,
 * cache write for longer.
 *
 * https://developers.cloudflare.com/workers-ai/platform/pricing/
 */
export const WORKERS_AI_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://developers.cloudflare.com/workers-ai/platform/pricing/': {
    '@cf/ai4bharat/indictrans2-en-indic-1b @cf/meta/m2m100-1.2b': [0.342, null, 0.342],
    '@cf/aisingapore/gemma-sea-lion-v4-27b-it': [0.351, null, 0.555],
    '@cf/baai/bge-base-en-v1.5': [0.067, null, 0],
    '@cf/baai/bge-large-en-v1.5': [0.204, null, 0],
    '@cf/baai/bge-m3 @cf/qwen/qwen3-embedding-0.6b': [0.012, null, 0],
    '@cf/baai/bge-reranker-base': [0.003, null, 0],
    '@cf/baai/bge-small-en-v1.5': [0.02, null, 0],
    '@cf/deepseek-ai/deepseek-r1-distill-qwen-32b': [0.497, null, 4.881],
    '@cf/google/gemma-3-12b-it': [0.345, null, 0.556],
    '@cf/huggingface/distilbert-sst-2-int8': [0.026, null, 0],
    '@cf/meta/llama-2-7b-chat-fp16': [0.556, null, 6.667],
    '@cf/meta/llama-3-8b-instruct @cf/meta/llama-3.1-8b-instruct': [0.282, null, 0.827],
    '@cf/meta/llama-3-8b-instruct-awq @cf/meta/llama-3.1-8b-instruct-awq': [0.123, null, 0.266],
    '@cf/meta/llama-3.1-70b-instruct-fp8-fast': [0.293, null, 2.253],
    '@cf/meta/llama-3.1-8b-instruct-fast @cf/meta/llama-3.1-8b-instruct-fp8-fast': [
      0.045,
      null,
      0.384,
    ],
    '@cf/meta/llama-3.1-8b-instruct-fp8': [0.152, null, 0.287],
    '@cf/meta/llama-3.2-11b-vision-instruct': [0.049, null, 0.676],
    '@cf/meta/llama-3.2-1b-instruct': [0.027, null, 0.201],
    '@cf/meta/llama-3.2-3b-instruct': [0.051, null, 0.335],
    '@cf/meta/llama-guard-3-8b': [0.484, null, 0.03],
    '@cf/mistral/mistral-7b-instruct-v0.1': [0.11, null, 0.19],
    '@cf/moondream/moondream3.1-9b-a2b': [0.3, null, 1],
    '@cf/moonshotai/kimi-k2.5': [0.6, 0.1, 3],
    '@cf/pfnet/plamo-embedding-1b': [0.019, null, 0],
    '@cf/qwen/qwen2.5-coder-32b-instruct @cf/qwen/qwq-32b': [0.66, null, 1],
  },
  '2026-11-20 https://developers.cloudflare.com/workers-ai/platform/pricing/': {
    '@cf/deepseek-ai/deepseek-v4-flash-0731': [0.44, 0.014, 1.32],
    '@cf/deepseek-ai/deepseek-v4-pro-0813': [1.32, 0.044, 3.96],
    '@cf/deepseek-ai/deepseek-v4.1-flash-1017': [0.3, 0.006, 1.2],
    '@cf/google/gemma-4-26b-a4b-it': [0.1, 0.05, 0.3],
    '@cf/ibm-granite/granite-4.0-h-micro': [0.017, null, 0.112],
    '@cf/meta/llama-3.3-70b-instruct-fp8-fast': [0.293, null, 2.253],
    '@cf/meta/llama-4-scout-17b-16e-instruct': [0.27, null, 0.85],
    '@cf/mistralai/mistral-small-3.1-24b-instruct': [0.351, null, 0.555],
    '@cf/moonshotai/kimi-k2.6': [0.95, 0.16, 4],
    '@cf/moonshotai/kimi-k2.7-code': [0.95, 0.19, 4],
    '@cf/nvidia/nemotron-3-120b-a12b': [0.5, null, 1.5],
    '@cf/openai/gpt-oss-120b': [0.35, null, 0.75],
    '@cf/openai/gpt-oss-20b': [0.2, null, 0.3],
    '@cf/qwen/qwen3-30b-a3b-fp8': [0.051, null, 0.335],
    '@cf/qwen/qwen3.8-27b': [0.45, 0.05, 3.2],
    '@cf/thinkingmachines/inkling-2-small': [0.3, 0.1, 1],
    '@cf/zai-org/glm-4.7-flash': [0.0605, null, 0.4],
    '@cf/zai-org/glm-5.2 @cf/zai-org/glm-5.3': [1.4, 0.26, 4.4],
    '@cf/zai-org/glm-5.3-flash': [0.15, 0.03, 0.5],
  },
})
