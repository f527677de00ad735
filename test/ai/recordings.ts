/** Answers as the vendors document them on the wire, written for these tests. */
const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** The text of the model in the recordings below, in its pieces. */
export const TEXTS: readonly string[] = [
  'The',
  ' sky',
  ' is',
  ' blue',
  ' because',
  ' of',
  ' Rayleigh',
  ' scattering',
  ' 🌈',
  '。',
]

const chunk = (
  delta: object | null,
  more: object = {},
  finish_reason: string | null = null,
): string =>
  event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_780_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: delta === null ? [] : [{ index: 0, delta, finish_reason }],
    ...more,
  })

export const CHAT_USAGE = {
  prompt_tokens: 1_204,
  completion_tokens: 310,
  total_tokens: 1_514,
  prompt_tokens_details: { cached_tokens: 1_024, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 250 },
}

const CHAT_DELTAS = [
  chunk({ role: 'assistant', content: '', refusal: null }, { usage: null }),
  ...TEXTS.map((content) => chunk({ content }, { usage: null })),
  chunk({}, { usage: null }, 'stop'),
]

/** https://developers.openai.com/api/reference/resources/chat */
export const CHAT_SSE: string = [
  ...CHAT_DELTAS,
  chunk(null, { usage: CHAT_USAGE }),
  'data: [DONE]\n\n',
].join('')
/** Only a stream that is asked for its usage has a member for it. */
export const CHAT_SSE_WITHOUT_USAGE: string = [...CHAT_DELTAS, 'data: [DONE]\n\n']
  .join('')
  .replaceAll(',"usage":null', '')
const CHAT_TOOLS = [
  chunk({
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        index: 0,
        id: 'call_1',
        type: 'function',
        function: { name: 'get_weather', arguments: '' },
      },
    ],
  }),
  ...['{"pl', 'ace":"', 'Utrecht', '","days"', ':2}'].map((text) =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
  ),
  chunk({}, {}, 'tool_calls'),
].join('')
export const CHAT_TOOLS_SSE: string = `${CHAT_TOOLS}data: [DONE]\n\n`
export const CHAT_TOOLS_SSE_WITH_USAGE: string = `${CHAT_TOOLS}${chunk(null, { usage: CHAT_USAGE })}data: [DONE]\n\n`
export const CHAT_TOOLS_JSON: object = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"place":"Utrecht","days":2}' },
          },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: CHAT_USAGE,
}
export const CHAT_JSON: object = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: TEXTS.join(''), refusal: null },
      finish_reason: 'stop',
    },
  ],
  usage: CHAT_USAGE,
  service_tier: 'default',
}

const RESPONSE_USAGE = {
  input_tokens: 1_204,
  input_tokens_details: { cached_tokens: 1_024, cache_write_tokens: 100 },
  output_tokens: 310,
  output_tokens_details: { reasoning_tokens: 250 },
  total_tokens: 1_514,
}
const response = (status: string, more: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  model: 'gpt-5.6-terra',
  status,
  instructions: 'Answer in one sentence.',
  output: [],
  usage: null,
  metadata: { usage: 'a string of the client' },
  ...more,
})
const said = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXTS.join(''), annotations: [] }],
}
const responseEvent = (type: string, more: object): string => event({ type, ...more }, type)

/** https://developers.openai.com/api/reference/resources/responses/streaming-events */
export const RESPONSES_DELTAS: readonly string[] = [
  responseEvent('response.created', { response: response('in_progress') }),
  responseEvent('response.in_progress', { response: response('in_progress') }),
  responseEvent('response.output_item.added', {
    output_index: 0,
    item: { ...said, content: [], status: 'in_progress' },
  }),
  ...TEXTS.map((delta) =>
    responseEvent('response.output_text.delta', { item_id: 'msg_1', output_index: 0, delta }),
  ),
  responseEvent('response.output_text.done', { item_id: 'msg_1', text: TEXTS.join('') }),
  responseEvent('response.output_item.done', { output_index: 0, item: said }),
]
export const responsesSse = (type = 'completed', more: object = {}): string =>
  [
    ...RESPONSES_DELTAS,
    responseEvent(`response.${type}`, {
      response: response(type, { output: [said], usage: RESPONSE_USAGE, ...more }),
    }),
  ].join('')
export const RESPONSES_JSON: object = response('completed', {
  output: [said],
  usage: RESPONSE_USAGE,
})

/** https://platform.claude.com/docs/en/build-with-claude/streaming */
export const MESSAGES_EVENTS: readonly string[] = [
  event(
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'claude-opus-4-5-20251101',
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 80,
          cache_creation_input_tokens: 100,
          cache_read_input_tokens: 1_024,
          cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
          output_tokens: 1,
        },
      },
    },
    'message_start',
  ),
  event(
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    'content_block_start',
  ),
  event({ type: 'ping' }, 'ping'),
  event(
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'Why is it blue at all?' },
    },
    'content_block_delta',
  ),
  event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
  event(
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    'content_block_start',
  ),
  ...TEXTS.map((text) =>
    event(
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text } },
      'content_block_delta',
    ),
  ),
  event({ type: 'content_block_stop', index: 1 }, 'content_block_stop'),
]
export const MESSAGES_SSE: string = [
  ...MESSAGES_EVENTS,
  event(
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 310 },
    },
    'message_delta',
  ),
  event({ type: 'message_stop' }, 'message_stop'),
].join('')
const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }
export const MESSAGES_TOOLS_SSE: string = [
  MESSAGES_EVENTS[0],
  event({ type: 'content_block_start', index: 0, content_block: TOOL_USE }, 'content_block_start'),
  ...['', '{"place": "Utr', 'echt", "days": 2}'].map((partial_json) =>
    event(
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      },
      'content_block_delta',
    ),
  ),
  event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
  event(
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 310 },
    },
    'message_delta',
  ),
  event({ type: 'message_stop' }, 'message_stop'),
].join('')
export const MESSAGES_JSON: object = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-5-20251101',
  content: [
    { type: 'text', text: 'He said "usage":{"output_tokens":0}, and "model":"none".' },
    { type: 'tool_use', id: 't', name: 'f', input: { usage: { output_tokens: 0 }, model: 'none' } },
  ],
  stop_reason: 'end_turn',
  usage: {
    input_tokens: 80,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 1_024,
    cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
    output_tokens: 310,
  },
}

export const SAID: string = TEXTS.join('')
export const MESSAGES_TOOLS_JSON: object = {
  ...MESSAGES_JSON,
  content: [{ ...TOOL_USE, input: { place: 'Utrecht', days: 2 } }],
  stop_reason: 'tool_use',
}

/** An answer of a language model of the AI SDK 7, of twenty tokens of input and five of output. */
export const MODEL_ANSWER: object = {
  finishReason: { unified: 'stop', raw: 'stop' },
  content: [{ type: 'text', text: 'Because.' }],
  warnings: [],
  usage: {
    inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  },
}
