import { gemini } from '@sluice/ai/formats'
import { json, JSON_TYPE, sse, SSE_TYPE, TEXT, TEXTS, type Provider } from './sample.ts'

/*
 * https://ai.google.dev/api/generate-content#UsageMetadata
 * https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse
 */
const MODEL = 'gemini-2.5-flash'
const USAGE = {
  promptTokenCount: 1_204,
  cachedContentTokenCount: 1_024,
  candidatesTokenCount: 60,
  thoughtsTokenCount: 250,
  toolUsePromptTokenCount: 36,
  totalTokenCount: 1_550,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1_204 }],
}
const EXPECTED = { model: MODEL, input: 1_240, cachedInput: 1_024, output: 310 }

const chunk = (parts: readonly object[], usageMetadata: object, finishReason?: string): object => ({
  candidates: [
    { content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) },
  ],
  usageMetadata,
  modelVersion: MODEL,
  responseId: 'r-1',
})
const { candidatesTokenCount: _, thoughtsTokenCount: __, ...PROMPT } = USAGE
const CHUNKS = [
  chunk([{ text: 'Why is it blue?', thought: true }], { ...PROMPT, thoughtsTokenCount: 100 }),
  ...TEXTS.map((text, index) => chunk([{ text }], { ...USAGE, candidatesTokenCount: index })),
  chunk([{ text: '' }], USAGE, 'STOP'),
]
const list = (chunks: readonly object[]): string =>
  `[${chunks.map((one) => JSON.stringify(one, null, 2)).join('\n,\n')}`

const TOOL_CALL = {
  functionCall: { name: 'get_weather', args: { place: 'Utrecht', days: [1, 2] } },
  thoughtSignature: 'CrQB',
}
const IMAGE = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo'.repeat(10_000) } }
const BLOCKED = { promptTokenCount: 9, totalTokenCount: 9 }

export const GEMINI: Provider = {
  formats: [gemini],
  from: 'gemini',
  json: [
    json(chunk([{ text: TEXT }], USAGE, 'STOP'), EXPECTED),
    json(chunk([TOOL_CALL], USAGE, 'STOP'), EXPECTED),
    json(chunk([{ text: TEXT }, IMAGE], USAGE, 'STOP'), EXPECTED),
    json(
      { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: BLOCKED, modelVersion: MODEL },
      { model: MODEL, input: 9, output: 0 },
    ),
  ],
  stream: [
    {
      body: sse(...CHUNKS),
      type: SSE_TYPE,
      usage: EXPECTED,
      cut: sse(...CHUNKS.slice(0, -1)),
    },
    {
      body: `${list(CHUNKS)}\n]\n`,
      type: JSON_TYPE,
      usage: EXPECTED,
      cut: `${list(CHUNKS.slice(0, -1))}\n]`,
    },
    // The usage comes after the end of the text, or before it.
    {
      body: sse(
        { ...chunk([{ text: TEXT }], {}, 'STOP'), usageMetadata: undefined },
        { usageMetadata: USAGE, modelVersion: MODEL },
      ),
      type: SSE_TYPE,
      usage: EXPECTED,
    },
    {
      body: sse(chunk([{ text: TEXT }], USAGE), {
        ...chunk([], {}, 'MAX_TOKENS'),
        usageMetadata: { trafficType: 'ON_DEMAND' },
      }),
      type: SSE_TYPE,
      usage: EXPECTED,
    },
    // An image makes an event too long to keep.
    { body: sse(chunk([IMAGE], USAGE, 'STOP')), type: SSE_TYPE, usage: EXPECTED },
  ],
  silent: JSON.stringify({ ...chunk([{ text: TEXT }], {}, 'STOP'), usageMetadata: undefined }),
}
