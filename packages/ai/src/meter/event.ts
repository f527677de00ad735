import type { AnswerEvent, UsageFormat } from '../formats/format.ts'
import { DELTA, readStandard } from '../formats/standard.ts'
import { jsonScan, type JsonScan } from '../formats/json-scan.ts'
import type { UsageAccumulator } from './usage-accumulator.ts'
import { isObject, objectOf, type Json } from '../json.ts'
import { reportedIn } from '../formats/provider-usage.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** An event longer than this is not kept: 64 KiB, which only one that repeats a whole answer is. */
const MAX_EVENT = 65_536

/** The members that are read of an event that is not kept, or of no known format. */
const FIELDS = [
  'type',
  'model',
  'usage',
  'service_tier',
  'response.model',
  'response.usage',
  'response.service_tier',
]

/** The members of a delta or a message that have what the model says. */
const OUTPUT_FIELD =
  /^(content|text|refusal|reasoning(_content)?|thinking|partial_json|audio|transcript|function(_call)?|tool_calls|custom|name|arguments|input)$/

/** Reads one event after the other, each in pieces: keeps it, or scans it while it passes. */
export interface EventReader {
  add(text: string): void
  end(): void
}

export function eventReader(
  accumulator: UsageAccumulator,
  formats: readonly UsageFormat[],
): EventReader {
  const fields = new Set([...FIELDS, ...formats.flatMap((format) => format.fields ?? [])])
  let kept = ''
  let long: { readonly scan: JsonScan; readonly counter: TokenCounter } | undefined
  let hasUsage = false

  function contentOf(event: Json): AnswerEvent | undefined {
    for (const format of formats) {
      const content = format.read(event)
      if (content !== undefined) return content
    }
    return readStandard(event)
  }

  /** @param tokens Those of an event that is too long to keep, of which `value` has what was found. */
  function read(value: unknown, tokens?: number): void {
    const event = objectOf(value)
    const known = contentOf(event)
    const { model, type } = event
    const content: AnswerEvent = known ?? { model, usage: reportedIn(event['usage'], event) }
    const { usage } = content
    // In no known format, a usage does not speak of what follows it, unless that is empty.
    if (!known && hasUsage) accumulator.hasMore ||= tokens !== undefined || !isEmpty(value)
    accumulator.setModel(content.model)
    accumulator.addReport(usage, content.isFinal)
    addTextsIn(content.text, accumulator)
    if (accumulator.isKnown && content.isLast) accumulator.ended = true
    if (known) accumulator.isKnown = true
    else if (usage) hasUsage = accumulator.isFinal
    if (tokens !== undefined) {
      // Long events that are no deltas repeat others or the request, or have what a tool has found.
      const isNew = typeof type !== 'string' || DELTA.test(type)
      if (!known || (isNew && !usage)) accumulator.addTokens(tokens)
    } else if (!known) accumulator.addUnparsed(kept)
  }

  return {
    add(text) {
      if (accumulator.ended) return
      kept += text
      if (long === undefined && kept.length <= MAX_EVENT) return
      long ??= { scan: jsonScan(fields), counter: accumulator.counter() }
      const piece = kept
      kept = ''
      long.scan.push(piece)
      long.counter.add(piece)
    },
    end() {
      try {
        // `[DONE]` ends a stream of a known format. Elsewhere it may be text.
        if (kept === '[DONE]' && accumulator.isKnown) accumulator.ended = true
        else read(long?.scan.found ?? parseJson(kept), long?.counter.tokens)
      } finally {
        // Also if a counter throws, which must not affect other events.
        kept = ''
        long = undefined
      }
    },
  }
}

/** Returns true for an object whose members say nothing: they are empty, 0 or null. */
function isEmpty(value: unknown): boolean {
  return isObject(value) && !Object.values(value).some(Boolean)
}

/** Counts a text, a list of parts, or an object with texts in it. */
function addTextsIn(value: unknown, accumulator: UsageAccumulator): void {
  // Not recursive: it may nest as deeply as it is long.
  const parts = [value]
  while (parts.length > 0) {
    const part = parts.pop()
    if (Array.isArray(part)) parts.push(...(part as unknown[]))
    else if (isObject(part)) {
      for (const name in part) if (OUTPUT_FIELD.test(name)) parts.push(part[name])
    } else if (part) accumulator.addOutput(part)
  }
}
