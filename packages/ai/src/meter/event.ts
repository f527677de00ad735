import type { AnswerEvent, UsageFormat } from '../formats/format.ts'
import { DELTA, readStandard } from '../formats/standard.ts'
import { jsonScan, type JsonScan } from '../formats/json-scan.ts'
import type { Tally } from './tally.ts'
import { isObject, objectOf, parsed, type Json } from '../json.ts'
import { reportedIn } from '../formats/provider-usage.ts'
import type { TokenCounter } from '../estimate/tokens.ts'

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
const SAID =
  /^(content|text|refusal|reasoning(_content)?|thinking|partial_json|audio|transcript|function(_call)?|tool_calls|custom|name|arguments|input)$/

/** Reads one event after the other, each in pieces: keeps it, or scans it while it passes. */
export interface EventReader {
  add(text: string): void
  end(): void
}

export function eventReader(tally: Tally, formats: readonly UsageFormat[]): EventReader {
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
    if (!known && hasUsage) tally.hasMore ||= tokens !== undefined || !isEmpty(value)
    tally.named(content.model)
    tally.reported(usage, content.isFinal)
    saidIn(content.text, tally)
    if (tally.isUnderstood && content.isLast) tally.ended = true
    if (known) tally.isUnderstood = true
    else if (usage) hasUsage = tally.isFinal
    if (tokens !== undefined) {
      // Long events that are no deltas repeat others or the request, or have what a tool has found.
      const isNew = typeof type !== 'string' || DELTA.test(type)
      if (!known || (isNew && !usage)) tally.counted(tokens)
    } else if (!known) tally.raw(kept)
  }

  return {
    add(text) {
      if (tally.ended) return
      kept += text
      if (long === undefined && kept.length <= MAX_EVENT) return
      long ??= { scan: jsonScan(fields), counter: tally.counter() }
      const piece = kept
      kept = ''
      long.scan.push(piece)
      long.counter.add(piece)
    },
    end() {
      try {
        // Text may begin so, too; it ends only what has begun, or told its usage.
        if (kept === '[DONE]' && tally.isUnderstood) tally.ended = true
        else read(long?.scan.found ?? parsed(kept), long?.counter.tokens)
      } finally {
        // Also where a counter throws: it is to spoil no other event.
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
function saidIn(value: unknown, tally: Tally): void {
  // Not recursive: it may nest as deeply as it is long.
  const parts = [value]
  while (parts.length > 0) {
    const part = parts.pop()
    if (Array.isArray(part)) parts.push(...(part as unknown[]))
    else if (isObject(part)) {
      for (const name in part) if (SAID.test(name)) parts.push(part[name])
    } else tally.said(part)
  }
}
