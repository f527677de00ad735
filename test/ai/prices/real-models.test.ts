import { InputError } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { modelsOfModelsDev } from '../../../scripts/prices/models-dev.ts'
import {
  billedByModelsDev,
  billedByPackage,
  charged,
  tableOf,
  USAGES,
  type Tokens,
} from './price-sources.ts'

/*
 * The names that vendors' APIs take, as models.dev lists them on 2026-11-20 (Cohere's: on 2026-05-20 or later;
 * scripts/prices/models-dev.json has the package, the repository and the commit), beside genai-prices of 2026-09-23.
 */
const VENDORS = [
  'openai',
  'anthropic',
  'google',
  'azure',
  'bedrock',
  'cohere',
  'deepseek',
  'groq',
  'mistral',
  'moonshot',
  'workers-ai',
  'xai',
] as const

const SHORT = USAGES[0] as Tokens

/** Names for which a table charges more than both sources, and why. */
const MORE: Readonly<Record<string, string>> = {
  'gemini-2.5-pro':
    'from December 2026 it is billed as gemini-3.8-flash, whose price rises in 2027',
  'gemini-3.6-flash': 'announced for 2027-01-01',
  'gemini-3.7-flash': 'announced for 2027-01-01',
  'gemini-3.8-flash': 'announced for 2027-01-01',
}

/** Names of which the sources say different things: a table has the higher price, or that of the vendor's page. */
const DIFFER: Readonly<Record<string, readonly string[]>> = {
  bedrock: [
    'apac.amazon.nova-lite-v1:0',
    'apac.amazon.nova-micro-v1:0',
    'apac.amazon.nova-pro-v1:0',
    'ca.amazon.nova-lite-v1:0',
    'eu.amazon.nova-2-lite-v1:0',
    'eu.amazon.nova-lite-v1:0',
    'eu.amazon.nova-micro-v1:0',
    'eu.amazon.nova-pro-v1:0',
    'jp.amazon.nova-2-lite-v1:0',
    'us-gov.openai.gpt-oss-120b-1:0',
    'us-gov.openai.gpt-oss-20b-1:0',
  ],
  groq: ['openai/gpt-oss-safeguard-20b'],
  mistral: ['mistral-large-latest', 'mistral-small-latest'],
  'workers-ai': ['@cf/qwen/qwen3-30b-a3b-fp8', '@cf/zai-org/glm-4.7-flash'],
}

/** Names that the older source takes for another model, or that name another one since. */
const ANOTHER = /claude-sonnet-5-5$|^mistral-large-latest$/

/** Names that have no price, and why. */
const REFUSED: readonly (readonly [vendor: string, model: string, why: string])[] = [
  ['openai', 'gpt-4o-audio-preview', 'tokens of sound have another price'],
  ['openai', 'gpt-audio', 'tokens of sound have another price'],
  ['openai', 'gpt-realtime', 'tokens of sound have another price'],
  ['openai', 'gpt-4o-mini-transcribe', 'its input is sound'],
  ['openai', 'whisper-1', 'billed by the minute'],
  ['openai', 'gpt-image-1', 'pictures have another price'],
  ['openai', 'ft:gpt-4o-2024-08-06:acme::1', 'a price of its own'],
  ['azure', 'our-deployment', 'its name tells no model'],
  ['azure', 'deepseek-v4-pro', 'not one of OpenAI’s models'],
  ['google', 'gemini-2.5-flash-image', 'pictures have another price'],
  ['google', 'gemini-live-2.5-flash', 'tokens of sound have another price'],
  ['google', 'gemini-2.5-flash-preview-tts', 'its output is sound'],
  ['google', 'gemma-4-31b-it', 'has no paid price'],
  ['google', 'deep-research-preview-04-2026', 'searches by itself, at a price for each'],
  ['google', 'deep-research-max-preview-04-2026', 'searches by itself, at a price for each'],
  ['bedrock', 'amazon.nova-sonic-v1:0', 'tokens of sound have another price'],
  ['bedrock', 'sa.amazon.nova-lite-v1:0', 'no source has the price of this geography'],
  ['bedrock', 'us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0', 'no source has its price alone'],
  ['bedrock', 'amazon.titan-embed-text-v2:0', 'no source has the price of this version'],
  ['cohere', 'rerank-v3.5', 'billed by the search'],
  ['groq', 'whisper-large-v3', 'billed by the hour'],
  ['mistral', 'mistral-ocr-latest', 'billed by the page'],
  ['mistral', 'voxtral-mini-latest', 'billed by the hour'],
  ['workers-ai', '@cf/openai/whisper', 'billed by the minute'],
  ['xai', 'grok-voice-latest', 'billed by the hour'],
]

describe.each(VENDORS)('each name of %s', (vendor) => {
  const names = modelsOfModelsDev(vendor).filter(
    (name) => !REFUSED.some(([of, refused]) => of === vendor && refused === name),
  )

  it('is charged at no less than what either source says', async () => {
    const table = await tableOf(vendor)
    const less = names.flatMap((name) =>
      USAGES.flatMap((usage) => {
        const billed = [billedByModelsDev(vendor, name, usage)]
        if (!ANOTHER.test(name)) billed.push(billedByPackage(vendor, name, usage))
        const ratio = charged(table, name, usage) / Math.max(...billed.map((sum) => sum ?? 0))
        return ratio > 1 - 1e-9 ? [] : [[name, usage, ratio]]
      }),
    )
    expect(less).toEqual([])
  })

  it('is charged alike where the sources agree, but for known reasons', async () => {
    const table = await tableOf(vendor)
    const factor = vendor === 'azure' ? 1.2 : 1
    const agreed = names.filter((name) => isAlike(vendor, name))
    const more = agreed.filter((name) => {
      const billed = (billedByModelsDev(vendor, name, SHORT) ?? 0) * factor
      return charged(table, name, SHORT) > billed + 1
    })
    expect(more.filter((name) => MORE[name] === undefined)).toEqual([])
  })

  it('is said to cost the same by both sources that know it, but for these', () => {
    const differ = names.filter(
      (name) => billedByPackage(vendor, name, SHORT) !== undefined && !isAlike(vendor, name),
    )
    expect(differ.toSorted()).toEqual(DIFFER[vendor] ?? [])
  })
})

it('more than 150 names are priced alike by both sources', () => {
  const counts = VENDORS.map((vendor) => [
    vendor,
    modelsOfModelsDev(vendor).filter((name) => isAlike(vendor, name)).length,
  ])
  expect(counts.every(([, count]) => Number(count) > 0)).toBe(true)
  expect(counts.reduce((sum, [, count]) => sum + Number(count), 0)).toBeGreaterThan(150)
})

it.each(REFUSED)('%s: %s has no price: %s', async (vendor, model) => {
  const table = await tableOf(vendor)
  expect(() => table.findPrice(model)).toThrow(InputError)
  expect(() => table.findPrice(model)).toThrow('model: has no price: list it, or set unknownModel')
})

/** Returns true if both sources say that a short call costs the same. */
function isAlike(vendor: string, name: string): boolean {
  const [one, other] = [billedByPackage, billedByModelsDev].map((sum) => sum(vendor, name, SHORT))
  return one !== undefined && other !== undefined && Math.abs(one - other) < 1
}
