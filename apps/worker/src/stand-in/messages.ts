import { event, id, type Format, type StandInAnswer } from './format.ts'

/** Anthropic's messages. */
export const messages: Format = {
  json: (answer) => message(answer, answer.output, [{ type: 'text', text: answer.words.join('') }]),
  events(answer) {
    const { words, output, isCut } = answer
    const start = { ...message(answer, 1, []), stop_reason: null }
    const delta = { stop_reason: isCut ? 'max_tokens' : 'end_turn', stop_sequence: null }
    return [
      event('message_start', { message: start }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...words.map((text) =>
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta, usage: { output_tokens: output } }),
      event('message_stop', {}),
    ]
  },
}

const message = (
  { model, input, isCut }: StandInAnswer,
  output_tokens: number,
  content: object[],
) => ({
  id: id('msg_'),
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason: isCut ? 'max_tokens' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: input, output_tokens },
})
