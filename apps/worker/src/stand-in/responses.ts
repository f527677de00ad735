import { event, id, now, type Format, type StandInAnswer } from './format.ts'

/** OpenAI's responses. */
export const responses: Format = {
  json: (answer) => response(answer, id('resp_'), id('msg_')),
  events(answer) {
    const [own, item_id] = [id('resp_'), id('msg_')]
    const place = { item_id, output_index: 0, content_index: 0 }
    const whole = response(answer, own, item_id)
    const started = { ...whole, status: 'in_progress', output: [], usage: null }
    const item = outputItem(answer, item_id)
    const [part] = item.content
    const events: [type: string, rest: object][] = [
      ['response.created', { response: started }],
      ['response.in_progress', { response: started }],
      [
        'response.output_item.added',
        { output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      ],
      ['response.content_part.added', { ...place, part: { ...part, text: '' } }],
      ...answer.words.map((delta): [string, object] => [
        'response.output_text.delta',
        { ...place, delta, logprobs: [] },
      ]),
      ['response.output_text.done', { ...place, text: part.text, logprobs: [] }],
      ['response.content_part.done', { ...place, part }],
      ['response.output_item.done', { output_index: 0, item }],
      [`response.${whole.status}`, { response: whole }],
    ]
    return events.map(([type, rest], sequence_number) => event(type, { sequence_number, ...rest }))
  },
}

const status = ({ isCut }: StandInAnswer): string => (isCut ? 'incomplete' : 'completed')

function outputItem(answer: StandInAnswer, item: string) {
  const part = { type: 'output_text', text: answer.words.join(''), annotations: [], logprobs: [] }
  const content: [typeof part] = [part]
  return { id: item, type: 'message', status: status(answer), role: 'assistant', content }
}

function response(answer: StandInAnswer, own: string, item: string) {
  const { model, input, output, isCut } = answer
  return {
    id: own,
    object: 'response',
    created_at: now(),
    status: status(answer),
    error: null,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    model,
    output: [outputItem(answer, item)],
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
  }
}
