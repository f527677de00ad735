/* The traits of models by name, beside the data of models.dev and genai-prices. */
import { calcPrice } from '@pydantic/genai-prices'
import { ANTHROPIC_PRICES } from '@sluice/ai/prices/anthropic'
import { OPENAI_PRICES } from '@sluice/ai/prices/openai'
import { describe, expect, it } from 'vitest'
import {
  contextOf,
  effortsOf,
  haveOtherVendors,
  plainName,
  readsNoPictures,
} from '../../../packages/ai/src/call/model-traits.ts'
import data from '../samples/model-traits.json' with { type: 'json' }

interface Listed {
  readonly tokens: number
  readonly pictures: boolean
  /** Of OpenAI's models, all that they take; of Claude's, those above `high`. */
  readonly efforts?: string
}
const VENDORS: Readonly<Record<string, Readonly<Record<string, Listed>>>> = data.vendors
const LISTED = Object.entries(VENDORS).flatMap(([vendor, models]) =>
  Object.entries(models).map(([name, model]) => [vendor, name, model] as const),
)

/** The longest input of each listed model by genai-prices. Embeddings are no calls that fall to another model. */
const LENGTHS = Object.entries({ openai: OPENAI_PRICES, anthropic: ANTHROPIC_PRICES }).flatMap(
  ([providerId, prices]) =>
    [...prices.models().keys()].flatMap((name) => {
      const priced = calcPrice({ input_tokens: 1 }, name, { providerId })
      const tokens = priced?.model.context_window
      return tokens && !/embedding|computer/.test(name) ? [[name, tokens] as const] : []
    }),
)

/** Models that take more than a source says: the list of OpenAI has no end for some, and Anthropic bills longer calls. */
const LONGER = /^gpt-(5\.[4-6]|6)|claude-sonnet-4(-[05])?$/

describe('the traits of a model', () => {
  it('are compared with the sources', () => {
    expect(LISTED.length).toBeGreaterThan(90)
    expect(LENGTHS.length).toBeGreaterThan(50)
  })

  it.each(LISTED)('has the pictures that models.dev lists: %s, %s', (_, name, { pictures }) => {
    expect(readsNoPictures(plainName(name))).toBe(!pictures)
  })

  it.each(LISTED)(
    'never refuses what models.dev says that it reads: %s, %s',
    (_, name, { tokens }) => {
      expect(contextOf(plainName(name))).toBeGreaterThanOrEqual(tokens)
    },
  )

  it.each(LENGTHS)('never refuses what genai-prices says that it reads: %s, %i', (id, tokens) => {
    expect(contextOf(plainName(id))).toBeGreaterThanOrEqual(tokens)
  })

  it('are no longer than the longer source says, with known exceptions', () => {
    const most = new Map<string, number>()
    const told = [...LENGTHS, ...LISTED.map(([, name, { tokens }]) => [name, tokens] as const)]
    for (const [id, tokens] of told) {
      const name = plainName(id)
      most.set(name, Math.max(most.get(name) ?? 0, tokens))
    }
    const longer = [...most].filter(
      ([name, tokens]) => Number.isFinite(contextOf(name)) && contextOf(name) > tokens * 1.05,
    )
    expect(longer.filter(([name]) => !LONGER.test(name))).toEqual([])
    expect(longer.length).toBeGreaterThan(0)
  })

  it.each(LISTED.filter(([vendor, , { efforts }]) => vendor === 'openai' && efforts !== undefined))(
    'takes the efforts that models.dev lists: %s, %s',
    (_, name, { efforts }) => {
      const known = effortsOf(plainName(name))
      expect(known?.join(' ') ?? efforts).toBe(efforts)
    },
  )

  it.each(LISTED.filter(([vendor]) => vendor === 'anthropic'))(
    'takes the efforts above high that models.dev lists: %s, %s',
    (_, name, { efforts }) => {
      const known = effortsOf(plainName(name)) ?? []
      expect(known.filter((effort) => /max/.test(effort) || effort === 'xhigh').join(' ')).toBe(
        efforts,
      )
    },
  )

  it.each([
    ['openai/gpt-6-luna-2026-09-01', 'gpt-6-luna'],
    ['us.anthropic.claude-opus-4-5-20251101-v1:0', 'claude-opus-4-5-20251101-v1:0'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['claude-3-5-sonnet-20241022', 'claude-sonnet-3-5'],
    ['ft:gpt-4o-mini-2024-07-18:acme::x', 'gpt-4o-mini'],
    ['groq/llama-3.3-70b-versatile', 'llama-3.3-70b-versatile'],
  ])('are found by the name without the rest: %s', (model, name) => {
    expect(plainName(model)).toBe(name)
  })

  it.each([
    ['gpt-6-luna', 'o3', false],
    ['gpt-6-luna', 'claude-opus-5', true],
    ['gpt-6-luna', 'gpt-oss-120b', true],
    ['mistral-large-4', 'codestral-2508', false],
    ['my-large', 'gpt-6-luna', false],
  ])('tell vendors apart, if both are known: %s, %s', (from, to, expected) => {
    expect(haveOtherVendors(from, to)).toBe(expected)
  })
})
