// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of Groq, https://console.groq.com/docs/models */
export const GROQ_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://console.groq.com/docs/models': {
    'deepseek-r1-distill-llama-70b': [0.75, null, 0.99],
    'gemma-7b-it': [0.07, null, 0.07],
    'gemma2-9b gemma2-9b-it llama-guard-3-8b meta-llama/llama-guard-4-12b': [0.2, null, 0.2],
    'llama-3.1-405b-reasoning llama-3.1-70b-versatile llama3-70b-8192': [0.59, null, 0.79],
    'llama-3.2-11b-text-preview llama-3.2-11b-vision-preview': [0.18, null, 0.18],
    'llama-3.2-1b-preview': [0.04, null, 0.04],
    'llama-3.2-3b-preview': [0.06, null, 0.06],
    'llama-3.2-90b-text-preview llama-3.2-90b-vision-preview': [0.9, null, 0.9],
    'llama-3.3-70b-specdec': [0.59, null, 0.99],
    'llama2-70b-4096': [0.7, null, 0.8],
    'llama3-8b-8192': [0.05, null, 0.08],
    'llama3-groq-70b-8192-tool-use-preview': [0.89, null, 0.89],
    'llama3-groq-8b-8192-tool-use-preview': [0.19, null, 0.19],
    'meta-llama/llama-4-maverick-17b-128e-instruct': [0.2, null, 0.6],
    'meta-llama/llama-4-scout-17b-16e-instruct': [0.11, null, 0.34],
    'mistral-saba-24b': [0.79, null, 0.79],
    'mixtral-8x7b-32768': [0.24, null, 0.24],
    'moonshotai/kimi-k2-instruct moonshotai/kimi-k2-instruct-0905': [1, 0.5, 3],
    'qwen/qwen3-32b': [0.29, null, 0.59],
  },
  '2026-11-20 https://console.groq.com/docs/models': {
    'llama-3.1-8b-instant': [0.05, null, 0.08],
    'llama-3.3-70b-versatile': [0.59, null, 0.79],
    'openai/gpt-oss-120b openai/gpt-oss-safeguard-20b': [0.15, 0.075, 0.6],
    'openai/gpt-oss-20b': [0.075, 0.0375, 0.3],
    'qwen/qwen3.6-27b': [0.6, 0.3, 3],
    'qwen/qwen3.8-27b': [0.8, null, 4],
  },
})
