import { estimateTokens } from '@sluice/ai'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { KINDS } from '../../ai/samples/kinds.ts'
import { LANGUAGES } from '../../ai/samples/languages.ts'

/** The texts that prompts are made of, by their names. */
const SAMPLES: Readonly<Record<string, string | undefined>> = { ...LANGUAGES, ...KINDS }

export const TEXTS = ['English', 'TypeScript', 'JSON, compact', 'Chinese', 'Swahili'] as const
export type TextName = (typeof TEXTS)[number]

/** A text, and the tokens that OpenAI's tokenizer makes of it. */
interface Prompt {
  readonly text: string
  readonly tokens: number
}

interface Unit extends Prompt {
  /** Tokens of the beginnings of the text, by their length. */
  readonly ofBeginning: Map<number, number>
}

const units = new Map<TextName, Unit>()

/** A sample that ends in blank lines, so that a tokenizer starts anew behind it. */
function unitOf(name: TextName): Unit {
  const known = units.get(name)
  if (known) return known
  const text = `${SAMPLES[name] ?? ''}\n\n`
  const unit = { text, tokens: encode(text).length, ofBeginning: new Map<number, number>() }
  units.set(name, unit)
  return unit
}

/** Estimated divided by true tokens of a sample. */
export function ratioOf(name: TextName): number {
  const text = SAMPLES[name] ?? ''
  return estimateTokens(text) / encode(text).length
}

/** Returns a text of about so many tokens, counted exactly. */
export function promptOf(name: TextName, about: number): Prompt {
  const { text, tokens, ofBeginning } = unitOf(name)
  const times = Math.floor(about / tokens)
  const length = Math.round(((about - times * tokens) / tokens) * text.length)
  const beginning = text.slice(0, length)
  const rest = ofBeginning.get(length) ?? encode(beginning).length
  ofBeginning.set(length, rest)
  return { text: text.repeat(times) + beginning, tokens: times * tokens + rest }
}
