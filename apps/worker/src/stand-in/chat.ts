import { data, id, now, type Format } from './format.ts'

/** OpenAI's chat completions. */
export const chat: Format = {
  json({ model, words, input, output, isCut }) {
    const message = { role: 'assistant', content: words.join(''), refusal: null }
    const finish_reason = isCut ? 'length' : 'stop'
    return {
      id: id('chatcmpl-'),
      object: 'chat.completion',
      created: now(),
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason }],
      usage: chatUsage(input, output),
    }
  },
  events({ model, words, input, output, isCut }) {
    const head = { id: id('chatcmpl-'), object: 'chat.completion.chunk', created: now(), model }
    const chunk = (delta: object, finish_reason: string | null = null): string =>
      data({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
    return [
      chunk({ role: 'assistant', content: '' }),
      ...words.map((content) => chunk({ content })),
      chunk({}, isCut ? 'length' : 'stop'),
      data({ ...head, choices: [], usage: chatUsage(input, output) }),
      'data: [DONE]\n\n',
    ]
  },
}

const chatUsage = (input: number, output: number): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})
