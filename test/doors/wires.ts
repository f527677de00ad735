/* Answers in each provider's wire format, from its API reference: as JSON, and as events of a stream. */
import type { Bill, Call, Json } from './billing.ts'

/** The text of every answer. */
const TEXT: readonly string[] = ['Hello', ' there']

const ID = 'call_0001'
const ARGUMENTS = '{"city":"Paris"}'
const CREATED = 1_760_000_000

/** The name of the tool to call, if the question asks for one. */
function toolOf({ body }: Call): string | undefined {
  const question = JSON.stringify(body['messages'] ?? body['input'] ?? '')
  // Once its result is there, the model answers.
  if (!question.includes('Call a tool.') || /tool_result|"tool"|call_output/.test(question))
    return undefined
  const [tool] = Array.isArray(body['tools']) ? (body['tools'] as Json[]) : []
  return ((tool?.['function'] as Json | undefined)?.['name'] ?? tool?.['name']) as
    string | undefined
}

/** An answer as it is sent. */
export interface Answer {
  readonly json: Json
  /** Each event of the stream: its name, if it has one, and its data. */
  readonly events: readonly (readonly [name: string | undefined, data: Json | '[DONE]'])[]
}

export function answerOf(call: Call, bill: Bill, told: boolean): Answer {
  return WIRES[call.kind](call, bill, told)
}

/** The usage of a chat, as this provider writes it. */
function chatUsage(vendor: string, bill: Bill): Json {
  const { input, cached, written, output, reasoning } = bill
  const sum = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  const details = {
    prompt_tokens_details: {
      cached_tokens: cached,
      ...(written > 0 && { cache_write_tokens: written }),
    },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
  const said = { ...sum, completion_tokens: output - reasoning }
  const dollars = bill.microDollars / 1e6
  switch (vendor) {
    case 'deepseek':
      return { ...sum, prompt_cache_hit_tokens: cached, prompt_cache_miss_tokens: input - cached }
    case 'moonshot':
      return { ...sum, cached_tokens: cached }
    case 'xai':
      return { ...said, ...details }
    case 'gemini':
      // Reasoning is in the total alone.
      return { ...said, prompt_tokens_details: details.prompt_tokens_details }
    case 'openrouter':
      return { ...sum, ...details, cost: dollars }
    case 'perplexity':
      return { ...sum, cost: { total_cost: dollars } }
    case 'mistral':
    case 'cohere':
      return sum
    default:
      return { ...sum, ...details }
  }
}

/** Providers that tell the usage of a stream without being asked. */
const TELL_ALWAYS = /^(groq|mistral|moonshot|xai|perplexity)$/

function chat(call: Call, bill: Bill, told: boolean): Answer {
  const { vendor, body } = call
  const { model, answers } = bill
  const tool = toolOf(call)
  const indexes = Array.from({ length: answers }, (_, index) => index)
  const tier = vendor === 'openai' && told ? { service_tier: bill.tier } : {}
  const head = { id: 'chatcmpl-1', created: CREATED, model, ...tier }
  const usage = chatUsage(vendor, bill)
  const call1 = { id: ID, type: 'function', function: { name: tool, arguments: ARGUMENTS } }
  const message = tool
    ? { role: 'assistant', content: null, tool_calls: [call1] }
    : { role: 'assistant', content: TEXT.join(''), refusal: null }
  const finish_reason = tool ? 'tool_calls' : 'stop'
  const chunk = (choices: readonly Json[], more: Json = {}): readonly [undefined, Json] => [
    undefined,
    { ...head, object: 'chat.completion.chunk', choices, ...more },
  ]
  const deltas: readonly Json[] = tool
    ? [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ index: 0, ...call1, function: { name: tool, arguments: '' } }],
        },
        { tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(0, 6) } }] },
        { tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(6) } }] },
      ]
    : [{ role: 'assistant', content: '' }, ...TEXT.map((content) => ({ content }))]
  const options = body['stream_options'] as Json | undefined
  const isAsked = options?.['include_usage'] === true
  const tells = told && (isAsked || TELL_ALWAYS.test(vendor))
  const isApart = tells && !TELL_ALWAYS.test(vendor)
  // OpenAI writes it in every chunk once it was asked for.
  const none = isApart && vendor === 'openai' ? { usage: null } : {}
  const lastMore: Json =
    !tells || isApart
      ? none
      : vendor === 'groq'
        ? { x_groq: { id: 'req_1', usage } }
        : vendor === 'moonshot'
          ? {}
          : { usage }
  const inChoice = tells && vendor === 'moonshot' ? { usage } : {}
  const last = { delta: {}, logprobs: null, finish_reason, ...inChoice }
  return {
    json: {
      ...head,
      object: 'chat.completion',
      choices: indexes.map((index) => ({ index, message, logprobs: null, finish_reason })),
      ...(told && { usage }),
    },
    events: [
      ...deltas.flatMap((delta) =>
        indexes.map((index) =>
          chunk([{ index, delta, logprobs: null, finish_reason: null }], none),
        ),
      ),
      chunk(
        indexes.map((index) => Object.assign({ index }, last)),
        lastMore,
      ),
      ...(isApart ? [chunk([], { usage })] : []),
      [undefined, '[DONE]'],
    ],
  }
}

const textChoice = (index: number, text: string, finish_reason: string | null): Json => ({
  index,
  text,
  logprobs: null,
  finish_reason,
})

function completions({ vendor, body }: Call, bill: Bill, told: boolean): Answer {
  const { model, answers } = bill
  const head = { id: 'cmpl-1', object: 'text_completion', created: CREATED, model }
  const indexes = Array.from({ length: answers }, (_, index) => index)
  const usage = chatUsage(vendor, bill)
  const options = body['stream_options'] as Json | undefined
  const tells = told && options?.['include_usage'] === true
  return {
    json: {
      ...head,
      choices: indexes.map((index) => textChoice(index, TEXT.join(''), 'stop')),
      ...(told && { usage }),
    },
    events: [
      ...TEXT.flatMap((text) =>
        indexes.map(
          (index) => [undefined, { ...head, choices: [textChoice(index, text, null)] }] as const,
        ),
      ),
      [undefined, { ...head, choices: indexes.map((index) => textChoice(index, '', 'stop')) }],
      ...(tells ? [[undefined, { ...head, choices: [], usage }] as const] : []),
      [undefined, '[DONE]'],
    ],
  }
}

function embeddings(_: Call, bill: Bill, told: boolean): Answer {
  const usage = { prompt_tokens: bill.input, total_tokens: bill.input }
  const data = [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }]
  const json = { object: 'list', data, model: bill.model, ...(told && { usage }) }
  return { json, events: [] }
}

function responses(call: Call, bill: Bill, told: boolean): Answer {
  const { body } = call
  const tool = toolOf(call)
  const item = tool
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: ID,
        name: tool,
        arguments: ARGUMENTS,
        status: 'completed',
      }
    : {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: TEXT.join(''), annotations: [], logprobs: [] }],
      }
  const usage = {
    input_tokens: bill.input,
    input_tokens_details: {
      cached_tokens: bill.cached,
      ...(bill.written > 0 && { cache_write_tokens: bill.written }),
    },
    output_tokens: bill.output,
    output_tokens_details: { reasoning_tokens: bill.reasoning },
    total_tokens: bill.input + bill.output,
  }
  const head = {
    id: 'resp_1',
    object: 'response',
    created_at: CREATED,
    model: bill.model,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: body['tools'] ?? [],
    top_p: 1,
    ...(told && { service_tier: bill.tier }),
  }
  const begun = { ...head, status: 'in_progress', output: [], usage: null }
  const json = {
    ...head,
    status: 'completed',
    output: [item],
    ...(told ? { usage } : { usage: null }),
  }
  const at = { item_id: item.id, output_index: 0 }
  const within = { ...at, content_index: 0 }
  const empty = tool
    ? { ...item, arguments: '', status: 'in_progress' }
    : { ...item, content: [], status: 'in_progress' }
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const middle: readonly (readonly [string, Json])[] = tool
    ? [
        ['response.function_call_arguments.delta', { ...at, delta: ARGUMENTS }],
        ['response.function_call_arguments.done', { ...at, name: tool, arguments: ARGUMENTS }],
      ]
    : [
        ['response.content_part.added', { ...within, part }],
        ...TEXT.map(
          (delta) => ['response.output_text.delta', { ...within, delta, logprobs: [] }] as const,
        ),
        ['response.output_text.done', { ...within, text: TEXT.join(''), logprobs: [] }],
        ['response.content_part.done', { ...within, part: { ...part, text: TEXT.join('') } }],
      ]
  const events: readonly (readonly [string, Json])[] = [
    ['response.created', { response: begun }],
    ['response.in_progress', { response: begun }],
    ['response.output_item.added', { output_index: 0, item: empty }],
    ...middle,
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response: json }],
  ]
  return {
    json,
    events: events.map(([type, data], index) => [type, { type, sequence_number: index, ...data }]),
  }
}

function messages(call: Call, bill: Bill, told: boolean): Answer {
  const tool = toolOf(call)
  const { input, cached, written, writtenLong, output } = bill
  const ofInput = {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: {
      ephemeral_5m_input_tokens: written - writtenLong,
      ephemeral_1h_input_tokens: writtenLong,
    },
  }
  const block = tool
    ? { type: 'tool_use', id: ID, name: tool, input: JSON.parse(ARGUMENTS) as Json }
    : { type: 'text', text: TEXT.join('') }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: bill.model }
  const stop = { stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null }
  const json = {
    ...head,
    content: [block],
    ...stop,
    ...(told && { usage: { ...ofInput, output_tokens: output, service_tier: 'standard' } }),
  }
  const begun = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(told && { usage: { ...ofInput, output_tokens: 1, service_tier: 'standard' } }),
  }
  const deltas: readonly Json[] = tool
    ? [
        { type: 'input_json_delta', partial_json: '' },
        { type: 'input_json_delta', partial_json: ARGUMENTS },
      ]
    : TEXT.map((text) => ({ type: 'text_delta', text }))
  const empty = tool ? { ...block, input: {} } : { type: 'text', text: '' }
  const events: readonly (readonly [string, Json])[] = [
    ['message_start', { message: begun }],
    ['content_block_start', { index: 0, content_block: empty }],
    ['ping', {}],
    ...deltas.map((delta) => ['content_block_delta', { index: 0, delta }] as const),
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: stop, ...(told && { usage: { output_tokens: output } }) }],
    ['message_stop', {}],
  ]
  return { json, events: events.map(([type, data]) => [type, { type, ...data }]) }
}

const WIRES = { chat, completions, responses, embeddings, messages }
