import { readFileSync } from 'node:fs'
import { estimateTokens, tokenCounter } from '@sluice/ai'
import * as fc from 'fast-check'
import { encode as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { encode as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { KINDS } from '../samples/kinds.ts'
import { LANGUAGES } from '../samples/languages.ts'

const page = readFileSync(new URL('../../../docs/call-charges.md', import.meta.url), 'utf8')
const SAMPLES: Readonly<Record<string, string>> = { ...LANGUAGES, ...KINDS }
const samples = Object.entries(SAMPLES)

/** The samples of each row of the page's table; "other text" has the rest. */
const CODE = ['TypeScript', 'Python', 'minified JavaScript', 'SQL', 'HTML', 'Markdown']
const JSONS = ['JSON, indented', 'JSON, compact']
const rest = Object.keys(KINDS).filter((name) => ![...CODE, ...JSONS].includes(name))
const ROWS = {
  English: ['English'],
  'other languages': Object.keys(LANGUAGES).filter((name) => name !== 'English'),
  code: CODE,
  JSON: JSONS,
  'other text': rest,
}

/** The lowest and the highest ratio of the estimate and the tokens, as the page writes them. */
function rangeOf(names: readonly string[], encode: (text: string) => number[]): string {
  const ratios = names.map((name) => {
    const text = SAMPLES[name] ?? ''
    return estimateTokens(text) / encode(text).length
  })
  const ends = [Math.min(...ratios), Math.max(...ratios)].map((end) => end.toFixed(2))
  return [...new Set(ends)].join(' to ')
}

const ratio = (text: string): number => estimateTokens(text) / o200k(text).length

describe('an estimate beside the real tokenizers', () => {
  it('has the accuracy that the page states for each kind of text', () => {
    const measured = Object.entries(ROWS).map(([text, names]) => ({
      text,
      o200k_base: rangeOf(names, o200k),
      cl100k_base: rangeOf(names, cl100k),
    }))
    expect([...tableOf(page, 'text').values()]).toEqual(measured)
  })

  it('is measured for each text in one row', () => {
    expect(Object.values(ROWS).flat().toSorted()).toEqual(Object.keys(SAMPLES).toSorted())
  })

  it.each(samples)('is 0.9 to 1.5 times the tokens of %s', (_, text) => {
    expect(ratio(text)).toBeGreaterThan(0.9)
    expect(ratio(text)).toBeLessThanOrEqual(1.5)
  })

  it('is no less than the tokens of prose in English, code, JSON and Chinese', () => {
    for (const name of ['English', 'TypeScript', 'Python', 'JSON, compact', 'Chinese']) {
      expect(ratio({ ...LANGUAGES, ...KINDS }[name] ?? '')).toBeGreaterThanOrEqual(1)
    }
  })

  it.each(['a', ' ', '=', '\n', '\r\n', '0', '\t', 'é', '😀', '- '])(
    'does not take a long run of %j for free',
    (text) => {
      expect(ratio(text.repeat(2_000))).toBeGreaterThan(0.9)
    },
  )

  it('does not take a run of any one character of ASCII for less than 0.9 of its tokens', () => {
    const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
    expect(ascii.filter((character) => ratio(character.repeat(600)) < 0.9)).toEqual([])
  })

  it.each([' \t', '\t\t ', '\0\x1b', '\x01{', '\n\r', '\r\r\n', '7 ', '12\t', '}\n', '{{{{}}}}'])(
    'does not take %j, again and again, for less than 0.9 of its tokens',
    (text) => {
      expect(ratio(text.repeat(300))).toBeGreaterThan(0.9)
    },
  )

  it('is far too low for text designed to be expensive, as the page says', () => {
    const letters = ['qzxj', 'vkwp', 'xqzt', 'jkvz'].join(' ')
    expect(ratio(`${letters} `.repeat(50))).toBeLessThan(0.9)
    expect(ratio('\t\t\t``--'.repeat(50))).toBeGreaterThan(0.35)
    expect(ratio('ԱԲԳѮѰѲѴ'.repeat(50))).toBeGreaterThan(0.25)
  })
})

describe('an estimate', () => {
  it('is 0 for nothing, and at least 1 for anything', () => {
    expect(estimateTokens('')).toBe(0)
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
        expect(estimateTokens(text)).toBeGreaterThanOrEqual(1)
      }),
    )
  })

  it('is a whole number, at most twice the bytes, whatever the text is', () => {
    const lone = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
    fc.assert(
      fc.property(lone, (units) => {
        const text = String.fromCharCode(...units)
        const estimate = estimateTokens(text)
        expect(Number.isInteger(estimate)).toBe(true)
        expect(estimate).toBeLessThanOrEqual(2 * new TextEncoder().encode(text).length)
      }),
    )
  })

  it('is the same wherever the text is cut', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom(...samples.map(([, sample]) => sample)),
    )
    fc.assert(
      fc.property(text, fc.array(fc.nat(600), { maxLength: 20 }), (whole, places) => {
        const counter = tokenCounter()
        const cuts = [0, ...places.toSorted((a, b) => a - b), whole.length]
        for (const [index, cut] of cuts.entries()) counter.add(whole.slice(cut, cuts[index + 1]))
        expect(counter.tokens).toBe(estimateTokens(whole))
      }),
    )
  })

  it('takes time in proportion to the length, for any text', () => {
    for (const text of ['a', ' ', '\r\n', '"\\', 'Aa1', '的', '😀'].map((t) =>
      t.repeat(1_000_000),
    )) {
      const start = performance.now()
      estimateTokens(text)
      // Some ten milliseconds; a rule that looks back would take minutes.
      expect(performance.now() - start).toBeLessThan(20_000)
    }
  })
})
