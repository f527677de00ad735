/* The fields of chat completions and of the Responses API that only some models take. */
import { isGiven, isObject, objectsIn, type Json } from '../json.ts'
import { partsIn, without, withoutField, type BodyDraft } from './body-draft.ts'
import { effortsOf, isOpenAi, reasons } from './model-traits.ts'

/** The models that are offered over the Responses API alone. https://github.com/alvinunreal/tmuxai/issues/82 */
const RESPONSES_ONLY = /^(o\d|gpt-5(\.\d)?)-pro|codex|deep-research/

/**
 * The models whose effort is `none` by default.
 * https://docs.rs/openai-tools/3.0.0/openai_tools/responses/request/enum.ReasoningEffort.html, https://replicate.com/openai/gpt-5.4
 */
const NONE_BY_DEFAULT = /^gpt-5\.(1|2|4)$/

/** Adapts a body of chat completions. */
export function adaptChat(draft: BodyDraft, to: string): void {
  if (!isOpenAi(to)) return
  if (RESPONSES_ONLY.test(to)) {
    draft.refuse('messages', 'it is offered over the Responses API only')
  }
  draft.fitEffort('reasoning_effort', to)
  const effort = draft.get('reasoning_effort')
  refuseTools(draft, to, effort)
  if (reasons(to)) {
    // https://github.com/bolna-ai/bolna/pull/1019
    const stop = draft.get('stop')
    if (isGiven(stop) && String(stop))
      draft.refuse('stop', 'it reasons, and takes no stop sequences')
    const bias = draft.get('logit_bias')
    if (isObject(bias) && Object.keys(bias).length > 0) {
      draft.refuse('logit_bias', 'it reasons, and takes no biases')
    }
    for (const field of ['frequency_penalty', 'presence_penalty', 'logit_bias']) draft.put(field)
  }
  adaptSampling(draft, to, effort)
  adaptRest(draft, to, 'verbosity')
}

/** Adapts a body of the Responses API. */
export function adaptResponses(draft: BodyDraft, to: string): void {
  leaveReasoningOut(draft)
  if (!isOpenAi(to)) return
  if (effortsOf(to)?.length === 0) {
    draft.put('reasoning')
    include(draft, 'reasoning.encrypted_content')
  }
  draft.fitEffort('reasoning.effort', to)
  adaptSampling(draft, to, draft.get('reasoning.effort'))
  adaptRest(draft, to, 'text.verbosity')
}

/**
 * From GPT-5.4 on, chat completions take no tools beside reasoning. GPT-5.6 and later reason unless the call says no.
 * https://github.com/onyx-dot-app/onyx/issues/15008
 */
function refuseTools(draft: BodyDraft, to: string, effort: unknown): void {
  const tools = ['tools', 'functions'].find((field) => objectsIn(draft.get(field))[0])
  const mayReason = /^gpt-(5\.[6-9]|[6-9])/.test(to) || isGiven(effort)
  if (!tools || !/^gpt-(5\.[4-9]|[6-9])/.test(to) || effort === 'none' || !mayReason) return
  draft.refuse(tools, 'it takes them over chat completions only with reasoning_effort "none"')
}

/**
 * A model that reasons takes no parameters of sampling. From GPT-5.1 on, it takes them if it is told not to.
 * https://developers.openai.com/api/docs/guides/latest-model/gpt-6-astra and https://github.com/vercel/ai/pull/10940
 */
function adaptSampling(draft: BodyDraft, to: string, effort: unknown): void {
  const isOff = effort === 'none' || (!isGiven(effort) && NONE_BY_DEFAULT.test(to))
  if (!reasons(to) || (isOff && /^gpt-(5\.|[6-9])/.test(to))) return
  for (const field of ['temperature', 'top_p']) draft.put(field)
  for (const field of ['logprobs', 'top_logprobs']) {
    // The answer would lack what the caller reads.
    if (draft.get(field)) draft.refuse(field, 'it reasons, and reports no probabilities')
    draft.put(field)
  }
  const asked = draft.get('include')
  if (Array.isArray(asked) && asked.includes('message.output_text.logprobs')) {
    draft.refuse('include', 'it reasons, and reports no probabilities')
  }
}

function adaptRest(draft: BodyDraft, to: string, verbosity: string): void {
  // https://github.com/google-deepmind/concordia/issues/164
  if (!/^gpt-(?!5-chat)[5-9]/.test(to) && draft.get(verbosity) !== 'medium') draft.put(verbosity)
  // https://openrouter.ai/docs/client-sdks/python/components/promptcacheoptions.md
  if (!/^gpt-(5\.[6-9]|[6-9])/.test(to)) draft.put('prompt_cache_options')
  if (/^gpt-[6-9]/.test(to)) draft.put('prompt_cache_retention')
  // https://github.com/BerriAI/litellm/blob/main/litellm/llms/openai/responses/transformation.py
  draft.put('cache_control')
  for (const field of ['messages', 'input', 'tools']) {
    const value = draft.get(field)
    const isMarked = [...partsIn(value)].some((part) => 'cache_control' in part)
    if (isMarked) draft.put(field, withoutField(value, 'cache_control'))
  }
}

/** Leaves out a part of the answer that the caller asks for beside its text. */
function include(draft: BodyDraft, part: string): void {
  const asked = draft.get('include')
  if (!Array.isArray(asked) || !asked.includes(part)) return
  const kept = asked.filter((item) => item !== part)
  draft.put('include', kept.length > 0 ? kept : undefined)
}

/** The items whose id names the reasoning that they follow. */
const FOLLOWS_REASONING = /^(message|function_call|custom_tool_call)$/

/**
 * Leaves out the reasoning of another model, which the model may be unable to decrypt, and the ids by which other items
 * would miss it. https://github.com/openai/codex/issues/17541
 */
function leaveReasoningOut(draft: BodyDraft): void {
  const input = draft.get('input')
  if (!objectsIn(input).some(isReasoning)) return
  const kept = (input as unknown[]).filter((item) => !isReasoning(item))
  draft.put(
    'input',
    kept.map((item) => {
      if (!isObject(item) || !FOLLOWS_REASONING.test(String(item['type']))) return item
      return without(item, 'id')
    }),
  )
}

const isReasoning = (item: unknown): boolean => (item as Json | null)?.['type'] === 'reasoning'
