import type { ModelApi } from '@sluice/ai'

/** An answer of the stand-in, and the tokens that it used. */
export interface StandInAnswer {
  readonly model: string
  readonly words: readonly string[]
  readonly input: number
  readonly output: number
  /** True if the maximum of output tokens has cut the text. */
  readonly isCut: boolean
}

/** Writes an answer as JSON, and as the events of a stream. */
interface Format {
  json(answer: StandInAnswer): object
  events(answer: StandInAnswer): string[]
}

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, rest: object): string => `event: ${type}\n${data({ type, ...rest })}`
const id = (prefix: string): string => `${prefix}${crypto.randomUUID().replaceAll('-', '')}`
const now = (): number => Math.floor(Date.now() / 1_000)

const chat: Format = {
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

const responses: Format = {
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

const messages: Format = {
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

/** The formats of texts; embeddings have none. */
export const FORMATS: Readonly<Partial<Record<ModelApi, Format>>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
}
