import { definePrices } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { PLAN_NAMES } from '../../apps/worker/src/limits.ts'
import { ALIASES, PROVIDERS as READY_MADE } from '../../apps/worker/src/providers.ts'
import { readModel, withModel } from '../../apps/worker/src/providers/model-in-body.ts'
import { offersOf } from '../../apps/worker/src/providers/offers.ts'
import type { Aliases, Provider } from '../../apps/worker/src/providers/provider.ts'
import { MODELS as NAMED } from '../support/models.ts'
import { keyOf } from './support/gateway-providers.ts'

const price = { input: 1_000_000, output: 2_000_000 }
const own: Provider = {
  id: 'own',
  apis: ['openai-chat'],
  url: 'https://own.example/v1',
  key: 'OWN_API_KEY',
  prices: definePrices({ 'model-a': price, 'model-b': price }),
}
const other: Provider = { ...own, id: 'other', key: 'OTHER_API_KEY' }
const ON = { OWN_API_KEY: keyOf('own'), OTHER_API_KEY: keyOf('other') }

const offers = (
  env: Readonly<Record<string, string>> = ON,
  providers: readonly Provider[] = [own],
  aliases: Aliases = {},
) => offersOf(env, providers, aliases, PLAN_NAMES)

describe('a provider that is malformed', () => {
  it.each<[field: string, change: object, rule: string]>([
    ['id', { id: 'Own' }, 'must be small letters, digits and dashes'],
    ['id', { id: 'own/er' }, 'must be small letters, digits and dashes'],
    ['apis', { apis: [] }, 'must name some of openai-chat, openai-responses'],
    ['apis', { apis: ['openai-images'] }, 'must name some of openai-chat'],
    ['apis', { apis: { 'openai-chat': 'chat' } }, 'must have paths that begin with "/"'],
    ['url', { url: 'own.example' }, 'must be an http(s) URL without credentials and parameters'],
    ['url', { url: 'https://u:p@own.example' }, 'must be an http(s) URL without credentials'],
    ['url', { url: 'https://own.example/v1?key=1' }, 'must be an http(s) URL without'],
    ['auth', { auth: 'basic' }, 'must be bearer, x-api-key, api-key'],
    ['query', { query: { 'api-version': 1 } }, 'must be texts by name'],
    ['allowFields', { allowFields: 'tools' as never }, 'must be a list of names of fields'],
    ['prices', { prices: {} }, 'must be made by definePrices'],
    ['prices', { models: ['model-z'] }, 'must list "model-z", which models offers'],
    ['prices', { prices: definePrices({}) }, 'must list the models to offer'],
    ['models', { models: [] }, 'must name at least one model'],
    ['models', { models: { 'model-a': 'same', 'model-b': 'same' } }, 'must name each model once'],
  ])('names its field %s in %j', (field, change, rule) => {
    const { id } = { ...own, ...change }
    expect(() => offers(ON, [{ ...own, ...change }])).toThrow(
      `${id}.${field} in src/providers.ts: ${rule}`,
    )
  })

  it.each(['sk-proj-Ab12Cd34Ef56', 'gsk_Ab12Cd34', 'AIzaSyA12', 'A'.repeat(70), 'own_api_key', ''])(
    'is refused if its key is no name of a secret, which is not shown: %j',
    (key) => {
      const refused = () => offers({ [key]: 'on' }, [{ ...own, key }])
      expect(refused).toThrow('own.key in src/providers.ts: must be the name of a secret')
      expect(refused).not.toThrow(new RegExp(key || 'no key'))
    },
  )

  it('is refused if another one has its id', () => {
    expect(() => offers(ON, [own, own])).toThrow(
      'own.id in src/providers.ts: must be the id of one',
    )
  })
})

describe('the address of a provider', () => {
  const azure = READY_MADE.filter(({ id }) => id === 'azure')

  it('must be set if a part of it is yours to fill in', () => {
    expect(() => offers({ AZURE_API_KEY: 'on' }, azure)).toThrow(
      'AZURE_BASE_URL: must be set because AZURE_API_KEY is: to https://<resource>.openai.azure.com/openai/v1',
    )
    const AZURE_BASE_URL = 'https://mine.openai.azure.com/openai/v1/'
    const [provider] = offers({ AZURE_API_KEY: 'on', AZURE_BASE_URL }, azure).providers
    expect(provider?.baseUrl).toBe('https://mine.openai.azure.com/openai/v1')
  })

  it.each(['mine', 'ftp://mine.example', 'https://u:p@mine.example', 'https://mine.example?a=1'])(
    'is refused in the variable if it is %j',
    (AZURE_BASE_URL) => {
      expect(() => offers({ AZURE_API_KEY: 'on', AZURE_BASE_URL }, azure)).toThrow(
        'AZURE_BASE_URL: must be an http(s) URL without credentials and parameters',
      )
    },
  )
})

describe('a name that two providers have', () => {
  it('is refused at the start, with both ways out', () => {
    expect(() => offers(ON, [own, other])).toThrow(
      'MODELS: must say whose "model-a" is meant, because own and other offer it: list own/model-a or own/*',
    )
    expect(() => offers({ ...ON, MODELS: 'model-b' }, [own, other])).toThrow('whose "model-b"')
    // One of them is off.
    expect(offers({ OWN_API_KEY: 'on' }, [own, other]).find('model-a', '')?.provider.id).toBe('own')
  })

  it.each([
    ['own/model-a', ['model-a'], 'own'],
    ['other/*', ['model-a', 'model-b'], 'other'],
    ['own/*, other/model-a', ['own/model-a', 'model-b', 'other/model-a'], undefined],
  ])('is chosen by MODELS=%s', (MODELS, listed, id) => {
    const found = offers({ ...ON, MODELS }, [own, other])
    expect(found.list(['openai-chat'], '').map(([name]) => name)).toEqual(listed)
    const of = (name: string) => found.find(name, '')?.provider.id
    for (const name of listed) expect(of(name)).toBeDefined()
    expect(of('model-a')).toBe(id)
  })

  it('is that of a provider’s id before the slash, and ambiguous without a choice', () => {
    const prices = definePrices({ 'own/model-a': price })
    const router = { ...other, prices }
    expect(() => offers(ON, [own, router])).toThrow('whose "own/model-a" is meant')
    const chosen = offers({ ...ON, MODELS: 'own/*,other/*' }, [own, router])
    expect(chosen.find('own/model-a', '')?.provider.id).toBe('own')
    expect(chosen.find('other/own/model-a', '')?.provider.id).toBe('other')
  })
})

describe('an alias', () => {
  it.each<[aliases: Aliases, rule: string]>([
    [
      { 'model-a': 'model-b' },
      'ALIASES.model-a in src/providers.ts: must not be the name of a model',
    ],
    [{ fast: 'model-z' }, 'ALIASES.fast in src/providers.ts: must be a model that is offered'],
    [{ fast: { starter: 'model-z' } }, 'and "model-z" is none'],
    [{ fast: { gold: 'model-a' } }, 'must name plans of src/limits.ts, and gold is none'],
  ])('is refused at the start: %j', (aliases, rule) => {
    expect(() => offers(ON, [own], aliases)).toThrow(rule)
  })

  it('is not found in Object.prototype', () => {
    expect(offers().find('constructor', 'starter')).toBeUndefined()
    expect(offers(ON, [own], { fast: { starter: 'model-a' } }).find('fast', 'constructor')).toBe(
      undefined,
    )
  })
})

describe('the ready-made providers', () => {
  it('are off without a key, so that a stand-in answers for all of their models', () => {
    const found = offersOf({}, READY_MADE, ALIASES, PLAN_NAMES)
    expect(found.providers.map(({ secret }) => secret)).toEqual(READY_MADE.map(() => undefined))
    expect(found.find(NAMED.openai, 'starter')?.provider.id).toBe('openai')
  })

  it('have no name in common, except those of Azure and OpenAI', () => {
    const settings = READY_MADE.filter(({ id }) => id !== 'openrouter' && id !== 'azure').map(
      ({ id, key }) => [key, keyOf(id)],
    )
    const on = {
      ...Object.fromEntries(settings),
      WORKERS_AI_BASE_URL: 'https://mine.example/ai/v1',
    }
    const found = offersOf(on as Record<string, string>, READY_MADE, ALIASES, PLAN_NAMES)
    expect(found.listed.size).toBeGreaterThan(200)
    expect([...found.listed.keys()].filter((name) => !found.find(name, 'starter'))).toEqual([])
    const azure = { ...on, AZURE_API_KEY: 'on', AZURE_BASE_URL: 'https://mine.example/openai/v1' }
    expect(() => offersOf(azure, READY_MADE, ALIASES, PLAN_NAMES)).toThrow(
      'because openai and azure offer it',
    )
  })
})

describe('the model in a body', () => {
  const url = 'https://gateway.example/v1/chat/completions'
  const read = (...parts: (string | Uint8Array)[]) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) controller.enqueue(Buffer.from(part as string))
        controller.close()
      },
    })
    // A chunk of this length is sent as bytes, any other as a stream.
    const length = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
    const headers = { 'content-length': String(length) }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    return readModel(new Request(url, init), 1_000)
  }

  it.each([
    ['{"model":"a","x":1}', 'a'],
    [' { "x" : [ { "model" : "no" } ] , "model" : "a" } ', 'a'],
    ['{"x":"\\"model\\":\\"no\\"","model":"a"}', 'a'],
    ['{"m\\u006fdel":"\\u0061\\"/b"}', 'a"/b'],
    ['{"x":"model","model":"ä🌈"}', 'ä🌈'],
    ['{"model":"a","model":"b"}', 'a'],
    ['{"model":null,"x":"a"}', undefined],
    ['{"model":{"model":"a"}}', undefined],
    ['["model","a"]', undefined],
    ['{"x":{"model":"a"}}', undefined],
    [`{"model":"${'a'.repeat(600)}"}`, undefined],
    ['model', undefined],
    ['', undefined],
  ])('is found in %s, however it is cut into chunks', async (text, model) => {
    const bytes = Buffer.from(text)
    for (let cut = 0; cut <= Math.min(bytes.length, 60); cut += 1) {
      const named = await read(bytes.subarray(0, cut), bytes.subarray(cut))
      expect(named.model).toBe(model)
      expect(await named.send().text()).toBe(text)
    }
  })

  it('is replaced, and nothing else', async () => {
    const named = await read('{"a":"model","mod', 'el" : "on', 'e", "messages":[', '"model"]}')
    expect(await named.send('two/"x"').text()).toBe(
      '{"a":"model","model" : "two/\\"x\\"", "messages":["model"]}',
    )
  })

  it('is searched no further than a body may be long, and the rest is left to the handler', async () => {
    const long = `{"x":"${'y'.repeat(1_200)}",`
    const named = await read(long, '"model":"a"}')
    expect(named.model).toBeUndefined()
    expect(await named.send().text()).toBe(`${long}"model":"a"}`)
  })

  it('is renamed in what the handler sends, wherever it stands', () => {
    expect(withModel('{"model":"a","x":1}', 'a', 'b"')).toBe('{"model":"b\\"","x":1}')
    expect(withModel('{"x":1,"model":"a"}', 'a', 'b')).toBe('{"x":1,"model":"b"}')
    expect(withModel('{"model":"a"}', 'a', 'a')).toBe('{"model":"a"}')
  })
})
