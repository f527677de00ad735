import { bedrock } from '@sluice/ai/formats'
import { chunk, event, EVENT_STREAM_TYPE, stream } from './event-stream.ts'
import { json, TEXT, TEXTS, type Provider, type Sample } from './sample.ts'

/*
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 */
const USAGE = {
  inputTokens: 80,
  outputTokens: 310,
  totalTokens: 1_514,
  cacheReadInputTokens: 1_024,
  cacheWriteInputTokens: 100,
  cacheDetails: [
    { ttl: '1h', inputTokens: 60 },
    { ttl: '5m', inputTokens: 40 },
  ],
}
const EXPECTED = { input: 1_204, cachedInput: 1_024, cacheWrite: 100, output: 310 }
const LONG = { ...EXPECTED, longCacheWrite: 60 }
const TOOL = { toolUse: { toolUseId: 't-1', name: 'get_weather', input: { place: 'Utrecht' } } }
const THOUGHT = { reasoningContent: { reasoningText: { text: 'Why?', signature: 'CrQB' } } }
const converse = (content: readonly object[]): object => ({
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  usage: USAGE,
  metrics: { latencyMs: 551 },
})

const delta = (value: object): Buffer =>
  event('contentBlockDelta', { contentBlockIndex: 0, delta: value, p: 'abcd' })
const CONVERSE = [
  event('messageStart', { role: 'assistant', p: 'abcdef' }),
  event('contentBlockStart', {
    contentBlockIndex: 0,
    start: { toolUse: { toolUseId: 't-1', name: 'get_weather' } },
  }),
  delta({ toolUse: { input: '{"place":"Utrecht"}' } }),
  delta({ reasoningContent: { text: 'Why is it blue?' } }),
  ...TEXTS.map((text) => delta({ text })),
  event('contentBlockStop', { contentBlockIndex: 0, p: 'ab' }),
  event('messageStop', { stopReason: 'end_turn', p: 'abc' }),
]
const METADATA = event('metadata', { metrics: { latencyMs: 551 }, usage: USAGE, p: 'a' })
// A guardrail's trace makes it too long to keep.
const TRACED = event('metadata', { trace: { guardrail: TEXT.repeat(2_000) }, usage: USAGE })

const METRICS = {
  inputTokenCount: 80,
  outputTokenCount: 310,
  invocationLatency: 551,
  firstByteLatency: 101,
  cacheReadInputTokenCount: 1_024,
  cacheWriteInputTokenCount: 100,
}
const INVOCATION = { 'amazon-bedrock-invocationMetrics': METRICS }
const MESSAGE_START = {
  type: 'message_start',
  message: {
    model: 'claude-opus-4-5-20251101',
    usage: {
      input_tokens: 80,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1_024,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
      output_tokens: 1,
    },
  },
}
const ANTHROPIC = [
  MESSAGE_START,
  ...TEXTS.map((text) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text },
  })),
]
const ANTHROPIC_END = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 310 } },
  { type: 'message_stop', ...INVOCATION },
]
const LLAMA = TEXTS.map((generation, index) => ({
  generation,
  prompt_token_count: index === 0 ? 1_204 : null,
  generation_token_count: index + 1,
  stop_reason: null,
}))
const TITAN = TEXTS.map((outputText) => ({ outputText, index: 0, completionReason: null }))
const NOVA = TEXTS.map((text) => ({ contentBlockDelta: { delta: { text }, contentBlockIndex: 0 } }))
const NOVA_USAGE = { inputTokens: 80, outputTokens: 310, cacheReadInputTokenCount: 1_024 }
const MISTRAL = TEXTS.map((text) => ({ outputs: [{ text, stop_reason: null }] }))
const GPT_OSS = TEXTS.map((content) => ({ choices: [{ index: 0, delta: { content } }] }))

const invoked = (
  events: readonly object[],
  end: readonly object[],
  usage: Sample['usage'],
): Sample => ({
  body: stream(...[...events, ...end].map(chunk)),
  type: EVENT_STREAM_TYPE,
  usage,
  cut: stream(...events.map(chunk)),
})

export const BEDROCK: Provider = {
  formats: [bedrock],
  from: 'bedrock',
  json: [
    json(converse([THOUGHT, { text: TEXT }]), LONG),
    json(converse([TOOL]), LONG),
    json(converse([{ text: TEXT.repeat(2_000) }]), LONG),
    json(
      {
        generation: TEXT,
        prompt_token_count: 40,
        generation_token_count: 310,
        stop_reason: 'stop',
      },
      { input: 40, output: 310 },
    ),
    json(
      {
        inputTextTokenCount: 40,
        results: [{ tokenCount: 310, outputText: TEXT.repeat(2_000), completionReason: 'FINISH' }],
      },
      { input: 40, output: 310 },
    ),
    json(
      {
        inputTextTokenCount: 40,
        results: [{ tokenCount: 310, outputText: TEXT, completionReason: 'FINISH' }],
      },
      { input: 40, output: 310 },
    ),
  ],
  stream: [
    {
      body: stream(...CONVERSE, METADATA),
      type: EVENT_STREAM_TYPE,
      usage: LONG,
      cut: stream(...CONVERSE),
    },
    { body: stream(...CONVERSE, TRACED), type: EVENT_STREAM_TYPE, usage: { ...EXPECTED } },
    invoked(ANTHROPIC, ANTHROPIC_END, { ...LONG, model: 'claude-opus-4-5-20251101' }),
    invoked(LLAMA, [{ generation: '', stop_reason: 'stop', ...INVOCATION }], EXPECTED),
    invoked(TITAN, [{ outputText: '', completionReason: 'FINISH', ...INVOCATION }], EXPECTED),
    invoked(
      NOVA,
      [
        { messageStop: { stopReason: 'end_turn' } },
        { metadata: { usage: NOVA_USAGE }, ...INVOCATION },
      ],
      EXPECTED,
    ),
    invoked(MISTRAL, [{ outputs: [{ text: '', stop_reason: 'stop' }], ...INVOCATION }], EXPECTED),
    invoked(GPT_OSS, [{ choices: [{ index: 0, delta: {} }], ...INVOCATION }], EXPECTED),
  ],
  silent: stream(...CONVERSE),
}
