/* The fields of Anthropic's messages that only some models take. */
import { isObject, objectsIn, type Json } from '../json.ts'
import { without, type BodyDraft } from './body-draft.ts'

/** Adapts a body of messages for a Claude model. */
export function adaptClaude(draft: BodyDraft, to: string): void {
  const [, family = '', major, minor = 0] = /^claude-(\w+)-(\d)(?:-(\d{1,2}))?(?!\d)/.exec(to) ?? []
  if (major === undefined) return
  const version = Number(major) * 100 + Number(minor)
  const isFable = /fable|mythos/.test(family)
  // Claude Opus 5.5 and its successors, and those of Claude Fable 5.1, are alike.
  const isLatest = isFable ? version >= 501 : family !== 'haiku' && version >= 505
  // https://github.com/anthropics/skills/blob/main/skills/claude-api/references/thinking-effort.md
  if (version >= 407) for (const field of ['temperature', 'top_p', 'top_k']) draft.put(field)
  draft.fitEffort('output_config.effort', to)
  fitThinking(draft, version, thinkingOff(family, isFable || isLatest))
  // Claude Opus 5 and later do without thinking at lower efforts only, Claude Sonnet from 5.5 on.
  if (version >= (family === 'sonnet' ? 505 : 500)) lowerWithoutThinking(draft)
  // https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md
  if (version >= 406 && beginsAnswer(draft.get('messages'))) {
    draft.refuse('messages', 'it takes no beginning of its answer')
  }
  // https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
  if (isLatest && /^(any|tool)$/.test(String(draft.get('tool_choice.type')))) {
    draft.refuse('tool_choice', 'it cannot be made to call a tool')
  }
  const tools = objectsIn(draft.get('tools'))
  if (isLatest && !isFable && tools.some(({ type }) => type === 'computer_20251124')) {
    draft.refuse('tools', 'it does not know computer_20251124')
  }
}

/** Returns the type of thinking that turns it off, if the model can do without. */
function thinkingOff(family: string, isAlwaysOn: boolean): string | undefined {
  if (!isAlwaysOn) return 'disabled'
  return family === 'sonnet' ? 'between_tools' : undefined
}

/** Chooses the type of thinking. https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting */
function fitThinking(draft: BodyDraft, version: number, off: string | undefined): void {
  const thinking = draft.get('thinking')
  if (!isObject(thinking)) return
  const { type } = thinking
  if (type === 'enabled' && version >= 407) {
    draft.put('thinking', { ...without(thinking, 'budget_tokens'), type: 'adaptive' })
  } else if (type === 'adaptive' && version <= 405) draft.put('thinking')
  else if (type === 'disabled' || type === 'between_tools') {
    if (off === undefined) draft.refuse('thinking', 'it always thinks')
    else if (type !== off) draft.put('thinking', { ...thinking, type: off })
  }
}

function lowerWithoutThinking(draft: BodyDraft): void {
  const [type, effort] = ['thinking.type', 'output_config.effort'].map((path) => draft.get(path))
  const isOff = type === 'disabled' || type === 'between_tools'
  if (isOff && (effort === 'xhigh' || effort === 'max')) draft.put('output_config.effort', 'high')
}

/** Returns true if the last message is a text of the assistant, which the model is to continue. */
function beginsAnswer(messages: unknown): boolean {
  const last = objectsIn(messages).at(-1)
  if (last?.['role'] !== 'assistant') return false
  const { content } = last
  return typeof content === 'string' || objectsIn(content).at(-1)?.['type'] === 'text'
}

/**
 * Returns the messages without signed thinking, which only its vendor reads. Among its own models, the vendor leaves
 * out what they cannot read. https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
 */
export function withoutThinking(messages: unknown): unknown {
  if (!objectsIn(messages).some(({ content }) => objectsIn(content).some(isThinking)))
    return messages
  return objectsIn(messages).flatMap((message) => withoutThinkingIn(message) ?? [])
}

/** Returns a message without its thinking, if there is more in it. */
function withoutThinkingIn(message: Json): Json | undefined {
  const { content } = message
  if (!Array.isArray(content)) return message
  const kept = content.filter((part) => !isThinking(part as Json))
  return kept.length > 0 ? { ...message, content: kept } : undefined
}

const isThinking = ({ type }: Json): boolean => /^(redacted_)?thinking$/.test(String(type))
