import { uiMessageStream } from '@sluice/ai/formats'
import { sse, SSE_TYPE, TEXTS, type Provider } from './sample.ts'

/*
 * https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
 * https://ai-sdk.dev/docs/ai-sdk-ui/message-metadata
 */
const V5 = {
  inputTokens: 1_204,
  outputTokens: 310,
  totalTokens: 1_514,
  reasoningTokens: 250,
  cachedInputTokens: 1_024,
}
const V6 = {
  inputTokens: 1_204,
  inputTokenDetails: { noCacheTokens: 80, cacheReadTokens: 1_024, cacheWriteTokens: 100 },
  outputTokens: 310,
  outputTokenDetails: { textTokens: 60, reasoningTokens: 250 },
  totalTokens: 1_514,
}
const EXPECTED = { model: 'gpt-4o', input: 1_204, cachedInput: 1_024, output: 310 }
const TOOL = { toolCallId: 'call_1', toolName: 'get_weather' }
const PARTS = [
  { type: 'start', messageId: 'm-1', messageMetadata: { model: 'gpt-4o' } },
  { type: 'start-step' },
  { type: 'reasoning-start', id: 'r-1' },
  { type: 'reasoning-delta', id: 'r-1', delta: 'Why is it blue?' },
  { type: 'reasoning-end', id: 'r-1' },
  { type: 'tool-input-start', ...TOOL },
  { type: 'tool-input-delta', toolCallId: 'call_1', inputTextDelta: '{"place":"Utrecht"}' },
  { type: 'tool-input-available', ...TOOL, input: { place: 'Utrecht' } },
  { type: 'tool-output-available', toolCallId: 'call_1', output: { text: 'x '.repeat(50_000) } },
  { type: 'source-url', sourceId: 's-1', url: 'https://example.com' },
  { type: 'data-weather', data: { degrees: 21 } },
  { type: 'text-start', id: 't-1' },
  ...TEXTS.map((delta) => ({ type: 'text-delta', id: 't-1', delta })),
  { type: 'text-end', id: 't-1' },
  { type: 'finish-step' },
]
const DONE = 'data: [DONE]\n\n'
const stream = (messageMetadata?: object): string =>
  `${sse(...PARTS, { type: 'finish', ...(messageMetadata && { messageMetadata }) })}${DONE}`

export const UI_MESSAGE_STREAM: Provider = {
  formats: [uiMessageStream],
  from: 'uiMessageStream',
  json: [],
  stream: [
    { body: stream({ totalUsage: V5 }), type: SSE_TYPE, usage: EXPECTED, cut: sse(...PARTS) },
    {
      body: stream({ usage: V6 }),
      type: SSE_TYPE,
      usage: { ...EXPECTED, cacheWrite: 100 },
    },
  ],
  silent: stream(),
}
