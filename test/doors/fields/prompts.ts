/* The fields of OpenAI's completions and embeddings. */
import { EXTENSIONS, maxima, URL, WORDS, wrongMaxima, type Rows } from './shared.ts'

export const COMPLETIONS_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_tokens'),
  'n: 3': { n: 3, max_tokens: 40 },
  best_of: { best_of: 5, max_tokens: 40 },
  'best_of and n': { n: 2, best_of: 4 },
  echo: { echo: true, logprobs: 5 },
  suffix: { suffix: WORDS.repeat(9) },
  'token numbers': { prompt: [1, 22, 333, 50_000] },
}

export const COMPLETIONS_MORE: Rows = {
  ...wrongMaxima('max_tokens'),
  ...EXTENSIONS,
  'many prompts': { prompt: ['a', 'b', 'c'] },
  'many lists of token numbers': { prompt: [[1, 2], [3]] },
  'best_of: 129': { best_of: 129 },
  'no prompt': { prompt: null },
  messages: { messages: [{ role: 'user', content: WORDS }] },
}

export const EMBEDDINGS_SENT: Rows = {
  'nothing else': {},
  'many texts': { input: [WORDS, WORDS.repeat(20), 'a'] },
  'token numbers': { input: [1, 22, 333] },
  'lists of token numbers': {
    input: [
      [1, 2],
      [3, 4, 5],
    ],
  },
  dimensions: { dimensions: 256, encoding_format: 'float', user: 'u' },
}

export const EMBEDDINGS_MORE: Rows = {
  ...EXTENSIONS,
  'a picture': { input: [{ type: 'image_url', image_url: { url: URL } }] },
  stream: { stream: true },
  max_tokens: { max_tokens: 1 },
  messages: { messages: [{ role: 'user', content: WORDS }] },
}
