import { ollama } from '@sluice/ai/formats'
import { json, lines, TEXT, TEXTS, type Provider } from './sample.ts'

/*
 * https://docs.ollama.com/api/chat
 * https://docs.ollama.com/api/generate
 * https://docs.ollama.com/api/embed
 */
const NAME = { model: 'gemma3', created_at: '2026-01-07T12:34:56.098767Z' }
const TOTALS = {
  done: true,
  done_reason: 'stop',
  total_duration: 174_560_334,
  load_duration: 101_397_084,
  prompt_eval_count: 26,
  prompt_eval_duration: 13_074_791,
  eval_count: 310,
  eval_duration: 52_479_709,
}
const EXPECTED = { model: 'gemma3', input: 26, output: 310 }
const CALL = { function: { name: 'get_weather', arguments: { place: 'Utrecht', days: 2 } } }

const chat = (message: object, more: object = { done: false }): object => ({
  ...NAME,
  message: { role: 'assistant', ...message },
  ...more,
})
const CHAT = [
  chat({ content: '', thinking: 'Why is it blue?' }),
  chat({ content: '', tool_calls: [CALL] }),
  ...TEXTS.map((content) => chat({ content })),
]
const generate = (response: string): object => ({ ...NAME, response, done: false })
const GENERATE = TEXTS.map(generate)
const CONTEXT = Array.from({ length: 20_000 }, (_, index) => index)

export const OLLAMA: Provider = {
  formats: [ollama],
  from: 'ollama',
  json: [
    json(chat({ content: TEXT }, TOTALS), EXPECTED),
    json(chat({ content: '', tool_calls: [CALL] }, TOTALS), EXPECTED),
    json({ ...NAME, response: TEXT, ...TOTALS, context: CONTEXT }, EXPECTED),
    json(
      { model: 'gemma3', embeddings: [CONTEXT], total_duration: 14_143_917, prompt_eval_count: 8 },
      { model: 'gemma3', input: 8, output: 0 },
    ),
  ],
  stream: [
    {
      body: lines(...CHAT, chat({ content: '' }, TOTALS)),
      type: 'application/x-ndjson',
      usage: EXPECTED,
      cut: lines(...CHAT),
    },
    {
      body: lines(...GENERATE, { ...NAME, response: '', ...TOTALS, context: CONTEXT }),
      type: 'application/x-ndjson',
      usage: EXPECTED,
      cut: lines(...GENERATE),
    },
  ],
  silent: JSON.stringify(chat({ content: TEXT }, { done: true })),
}
