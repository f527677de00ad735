import { isGiven, objectOf, type Json } from '../json.ts'
import { API_RULES, isAnthropic, type ModelApi } from './api.ts'
import { BodyDraft, partsIn } from './body-draft.ts'
import { adaptClaude, withoutThinking } from './claude-fields.ts'
import { contextOf, haveOtherVendors, plainName, readsNoPictures } from './model-traits.ts'
import { adaptChat, adaptResponses } from './openai-fields.ts'

/** A change of the model. */
export interface ModelChange {
  /** The model that the body was written for. */
  readonly from: string
  /** The model to send it to. */
  readonly to: string
  /** The input tokens of the call, estimated or bounded. @default unknown: the model's length is not checked */
  readonly input?: number
}

/** A body for another model, or the reason why that model cannot take it. */
export type BodyForModel =
  | {
      /** The body, without another `model`. The very one that was passed, if nothing had to change. */
      readonly body: Json
      /** The paths of the fields that were left out, or lowered to what the model takes. */
      readonly changed: readonly string[]
      readonly refused?: undefined
    }
  | {
      /** The field that the model refuses. */
      readonly refused: string
      /** A sentence that names the model and the field. */
      readonly reason: string
    }

/**
 * Returns a body as another model takes it. A field that the other model refuses is left out where the answer is still
 * what the caller asked for, such as `temperature`. Otherwise the model is refused, such as for `stop`. A field or model
 * that is not known here passes.
 *
 * @param api The format of the body. `undefined` for the messages of a call of the AI SDK, which adapts fields itself.
 * @example
 * bodyForModel('openai-chat', { messages, temperature: 0 }, { from: 'gpt-4o', to: 'gpt-6-luna' })
 * // { body: { messages }, changed: ['temperature'] }
 */
export function bodyForModel(
  api: ModelApi | undefined,
  body: Json,
  change: ModelChange,
): BodyForModel {
  const from = plainName(change.from)
  const to = plainName(change.to)
  const draft = new BodyDraft(body)
  if (from !== to) {
    const question = api ? API_RULES[api].question : 'messages'
    refuseInput(draft, question, to, change.input ?? 0)
    if (haveOtherVendors(from, to)) leaveVendor(draft, question, api)
    if (api === 'openai-chat') adaptChat(draft, to)
    if (api === 'openai-responses') adaptResponses(draft, to)
    if (api && isAnthropic(api)) adaptClaude(draft, to)
  }
  if (!draft.refusal) return { body: draft.body, changed: draft.changed }
  const [refused, because] = draft.refusal
  return { refused, reason: `${change.to} cannot take the field ${refused}: ${because}.` }
}

/** Refuses input that is too long, and pictures that the model does not read. */
function refuseInput(draft: BodyDraft, question: string, to: string, input: number): void {
  const most = contextOf(to)
  if (input > most) {
    draft.refuse(question, `it reads at most ${most} tokens, and the call has about ${input}`)
  }
  if (readsNoPictures(to) && [...partsIn(draft.get(question))].some(isPicture)) {
    draft.refuse(question, 'it reads no pictures')
  }
}

const isPicture = ({ type, image_url: url, mediaType }: Json): boolean =>
  isGiven(url) ||
  /^(image(_url)?|input_image|computer_screenshot)$/.test(String(type)) ||
  /^image(\/|$)/.test(String(mediaType))

/** Refuses state that only the former vendor has, and leaves its signed thinking out. */
function leaveVendor(draft: BodyDraft, question: string, api: ModelApi | undefined): void {
  const because = 'another vendor keeps what it names'
  for (const field of ['previous_response_id', 'conversation']) {
    if (isGiven(draft.get(field))) draft.refuse(field, because)
  }
  if (isGiven(objectOf(draft.get('prompt'))['id'])) draft.refuse('prompt', because)
  if (draft.get('thread.type') === 'continue') draft.refuse('thread', because)
  if ([...partsIn(draft.get(question))].some(isKept)) draft.refuse(question, because)
  if (api && isAnthropic(api)) draft.put('messages', withoutThinking(draft.get('messages')))
}

const isKept = (part: Json): boolean =>
  part['type'] === 'item_reference' || isGiven(part['file_id'])
