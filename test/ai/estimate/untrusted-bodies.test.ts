import { ConfigError, InputError } from '@sluice/core'
import { estimateRequest, estimateTokens } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'

const MAX = 100_000_000_000_000
const inputOf = (body: unknown): number => estimateRequest(body).input

describe('an untrusted body', () => {
  it.each([null, undefined, 'text', 5, true, [], [{ messages: [] }]])('%j is refused', (body) => {
    expect(() => estimateRequest(body)).toThrow(InputError)
    expect(() => estimateRequest(body)).toThrow(/^Sluice: body: must be a JSON object/)
  })

  it('may nest as deeply as it is long', () => {
    const deep = `${'['.repeat(200_000)}"x"${']'.repeat(200_000)}`
    for (const name of ['messages', 'tools', 'input']) {
      expect(inputOf(JSON.parse(`{"${name}":${deep}}`))).toBeGreaterThan(0)
    }
    const objects = `${'{"a":'.repeat(100_000)}"x"${'}'.repeat(100_000)}`
    expect(inputOf(JSON.parse(`{"messages":${objects}}`))).toBeGreaterThan(0)
  })

  it('is refused if it has more than a million values or contains itself', () => {
    const many = { messages: Array.from({ length: 1_000_001 }, () => 0) }
    const self: { messages: unknown[] } = { messages: [] }
    self.messages.push(self)
    for (const body of [many, self]) {
      expect(() => estimateRequest(body)).toThrow(/at most 1000000 values/)
    }
  })

  it('may use names that every object has', () => {
    const body: unknown = JSON.parse(
      `{"__proto__":{"max_tokens":9,"model":"gpt-4o"},"constructor":{"a":"b"},"messages":[{"__proto__":{"type":"image"},"role":"user","content":"hello"}]}`,
    )
    const estimate = estimateRequest(body)
    expect(estimate).toMatchObject({ model: undefined, output: 4_096 })
    expect(estimate.input).toBeLessThan(60)
  })

  it('always yields whole numbers from 0 to 10^14', () => {
    const keys = fc.constantFrom(
      'messages',
      'input',
      'system',
      'tools',
      'content',
      'type',
      'text',
      'image_url',
      'source',
      'max_tokens',
      'n',
      'model',
      'role',
      'detail',
      '__proto__',
      'constructor',
      'file',
      'prompt',
    )
    const leaf = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(null, 'image', 'document', 'file', 'input_audio', 'image_url', 'gpt-4o'),
    )
    const body = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('value'), { maxLength: 4 }),
        tie('object'),
      ),
      object: fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
    })).object
    fc.assert(
      fc.property(body, (value) => {
        const { input, output } = estimateRequest(value)
        for (const tokens of [input, output]) {
          expect(Number.isInteger(tokens) && tokens >= 0 && tokens <= MAX).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is never estimated below the text that it holds', () => {
    const text = fc.string({ minLength: 1, maxLength: 200 })
    const part = fc.oneof(
      text,
      fc.record({ type: fc.constantFrom('text', 'input_text', 'refusal'), text }),
    )
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      content: fc.oneof(text, fc.array(part)),
    })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (list) => {
        const texts = list
          .flatMap(({ content }) => content)
          .map((item) => (typeof item === 'string' ? item : item.text))
        const sum = texts.reduce((total, item) => total + estimateTokens(item), 0)
        expect(inputOf({ messages: list })).toBeGreaterThanOrEqual(sum)
      }),
    )
  })

  it('takes time in proportion to its length, up to ten megabytes', () => {
    const body = { messages: [{ role: 'user', content: 'a"\\ 的'.repeat(2_000_000) }] }
    const start = performance.now()
    expect(inputOf(body)).toBeGreaterThan(1_000_000)
    expect(performance.now() - start).toBeLessThan(5_000)
  })
})

describe('a mistake in the options of estimateRequest is an error that names the option', () => {
  const estimate = loosely((options: never) => estimateRequest({ messages: ['hello'] }, options))
  mistakesAreNamed([
    ['no object', () => estimate(5), 'estimateRequest'],
    ['unknown', () => estimate({ image: 1 }), 'estimateRequest.image', 'unknown_option'],
    ['a count that is none', () => estimate({ count: 4 }), 'estimateRequest.count'],
    ['a default of 0', () => estimate({ defaultOutput: 0 }), 'estimateRequest.defaultOutput'],
    ['half a token', () => estimate({ imageTokens: 1.5 }), 'estimateRequest.imageTokens'],
    ['less than nothing', () => estimate({ unseenTokens: -1 }), 'estimateRequest.unseenTokens'],
  ])

  it.each([Number.NaN, -1, Infinity, '5', undefined])('a count that returns %j', (value) => {
    expect(() => estimate({ count: () => value })).toThrow(ConfigError)
    expect(() => estimate({ count: () => value })).toThrow('estimateRequest.count')
  })
})
