import { readFileSync } from 'node:fs'
import { findPrice, LIST_PRICES } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { DAY_OF_SOURCES } from '../../../scripts/prices/models-dev.ts'
import { PUBLISHED, VENDORS } from '../../../scripts/prices/vendors.ts'
import { assertFresh, fileOf, tableText } from '../../../scripts/prices.ts'
import { tableOf } from './price-sources.ts'

const manifestOf = (path: string): Readonly<Record<string, string>> =>
  JSON.parse(
    readFileSync(new URL(`../../../${path}/package.json`, import.meta.url), 'utf8'),
  ) as never

it('are those of the version that is installed', () => {
  expect(manifestOf('node_modules/@pydantic/genai-prices')['version']).toBe(PUBLISHED.version)
})

it('were compared with their sources after the newer of these was published', () => {
  const checked = manifestOf('packages/ai')['pricesChecked'] ?? ''
  expect(checked >= DAY_OF_SOURCES).toBe(true)
})

it('are not published a month after they were compared with their sources', () => {
  const manifest = JSON.stringify({ pricesChecked: '2026-11-28' }, null, 2)
  expect(() => assertFresh(manifest, Date.parse('2026-12-27'))).not.toThrow()
  expect(() => assertFresh(manifest, Date.parse('2026-12-29'))).toThrow('are of 2026-11-28')
  expect(() => assertFresh('{}', Date.parse('2026-12-29'))).toThrow('npm run prices')
})

describe.each(Object.keys(VENDORS))('the table of %s', (vendor) => {
  it('is what `npm run prices` writes', async () => {
    expect(readFileSync(fileOf(vendor), 'utf8')).toBe(await tableText(vendor))
  })

  it('has the day and the page of each price, and no price for a model that is not listed', async () => {
    const table = await tableOf(vendor)
    expect(table.models().size).toBeGreaterThan(4)
    for (const { asOf = '', source, endsOn } of table.models().values()) {
      expect(asOf).toMatch(/^202[56]-\d\d-\d\d$/)
      expect(new URL(source ?? '').protocol).toBe('https:')
      expect(endsOn ?? asOf).toMatch(/^202[5-9]-\d\d-\d\d$/)
    }
    expect(() => findPrice('no-such-model', table)).toThrow('has no price')
  })
})

it('LIST_PRICES are those of OpenAI and of Anthropic', async () => {
  const anthropic = (await tableOf('anthropic')).models()
  const both = new Map([...(await tableOf('openai')).models(), ...anthropic])
  const listed = [...LIST_PRICES.models()]
  expect(listed.map(([model]) => model)).toEqual([...both.keys()])
  // The most that each takes as a maximum is beside its price.
  for (const [model, price] of listed) expect(price).toMatchObject(both.get(model) ?? {})
  expect(listed.filter(([, { maxOutput = 0 }]) => maxOutput < 4_096)).toEqual([])
})

it('Azure has OpenAI’s prices, and a fifth more, for the names of its deployments', async () => {
  const azure = await tableOf('azure')
  expect(findPrice('gpt-4o', azure)).toMatchObject({ input: 3_000_000, output: 12_000_000 })
  expect(findPrice('gpt-5.4', azure).long).toMatchObject({ above: 271_999, input: 6_000_000 })
  expect(azure.nameOf('gpt-35-turbo-16k')).toBe('gpt-3.5-turbo-16k')
  expect(azure.nameOf('GPT-5-1-codex')).toBe('gpt-5.1-codex')
  expect(azure.nameOf('gpt-4-0613')).toBe('gpt-4-0613')
  expect(azure.nameOf('my-deployment')).toBeUndefined()
})

it('the latest model is another one for each vendor but OpenAI and Anthropic', async () => {
  const google = await tableOf('google')
  expect(findPrice('gemini-pro-latest', google).input).toBe(2_000_000)
  expect(google.nameOf('gemini-3.5-pro-latest')).toBeUndefined()
  expect((await tableOf('mistral')).nameOf('mistral-small-2603-latest')).toBeUndefined()
  expect((await tableOf('groq')).nameOf('gemma2-9b-latest')).toBeUndefined()
  expect(LIST_PRICES.nameOf('gpt-5-chat-latest')).toBe('gpt-5-chat')
  expect(LIST_PRICES.nameOf('claude-haiku-4-5-latest')).toBe('claude-haiku-4-5')
})

const BEDROCK: readonly (readonly [name: string, listed: string | undefined])[] = [
  ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'anthropic.claude-sonnet-4-5'],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'anthropic.claude-sonnet-4-5'],
  ['apac.anthropic.claude-sonnet-4-20250514-v1:0', 'anthropic.claude-sonnet-4'],
  ['claude-sonnet-4-5-20250929', 'anthropic.claude-sonnet-4-5'],
  ['global.anthropic.claude-sonnet-4-6', 'global.anthropic.claude-sonnet-4-6'],
  [
    'arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-5',
    'anthropic.claude-opus-5',
  ],
  ['us.amazon.nova-lite-v1:0', 'amazon.nova-lite'],
  // A model that costs more in another geography, or in a cloud apart, is not taken for the same.
  ['eu.amazon.nova-lite-v1:0', 'eu.amazon.nova-lite'],
  ['sa.amazon.nova-lite-v1:0', undefined],
  ['eu.meta.llama3-2-1b-instruct-v1:0', undefined],
  ['us-gov.anthropic.claude-haiku-4-5-20251001-v1:0', undefined],
  // Another version is another model.
  ['amazon.titan-embed-text-v2:0', undefined],
  ['anthropic.claude-sonnet-4-5-20250929-v2:0', undefined],
  ['anthropic.claude-sonnet-5-5-preview', undefined],
]

it.each(BEDROCK)('Bedrock lists %s as %s', async (name, listed) => {
  expect((await tableOf('bedrock')).nameOf(name)).toBe(listed)
})
