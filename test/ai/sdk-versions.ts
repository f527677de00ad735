import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import { MockLanguageModelV2 } from 'ai5/test'
import { MockLanguageModelV3 } from 'ai6/test'
import { MockLanguageModelV4 } from 'ai/test'

const FLAT = { inputTokens: 100, outputTokens: 50, totalTokens: 150 }
const IN_PARTS = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 50, text: 50, reasoning: 0 },
}

const LOOK = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{}' }
const ANSWER = { type: 'text', text: 'That is all.' }

interface Call {
  readonly toolChoice?: { readonly type: string }
}

/**
 * A step of a hundred tokens of input and fifty of output. It calls a tool, and so goes on for ever,
 * unless tools are refused: then it answers.
 */
const step = ({ toolChoice }: Call) =>
  toolChoice?.type === 'none'
    ? { finishReason: 'stop', content: [ANSWER], warnings: [] }
    : { finishReason: 'tool-calls', content: [LOOK], warnings: [] }

const stepInParts = (call: Call) => {
  const { finishReason, ...rest } = step(call)
  return { ...rest, finishReason: { unified: finishReason }, usage: IN_PARTS }
}

/** Each version of the AI SDK with a model of its specification. */
export const VERSIONS = {
  'ai 5': {
    sdk: ai5,
    model: () =>
      new MockLanguageModelV2({
        modelId: 'gpt-4o',
        doGenerate: async (call) => ({ ...step(call), usage: FLAT }) as never,
      }),
  },
  'ai 6': {
    sdk: ai6,
    model: () =>
      new MockLanguageModelV3({
        modelId: 'gpt-4o',
        doGenerate: async (call) => stepInParts(call) as never,
      }),
  },
  'ai 7': {
    sdk: ai7,
    model: () =>
      new MockLanguageModelV4({
        modelId: 'gpt-4o',
        doGenerate: async (call) => stepInParts(call) as never,
      }),
  },
} as const
