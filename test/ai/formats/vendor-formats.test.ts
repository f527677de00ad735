import { readFileSync } from 'node:fs'
import { estimateTokens, meterStream, type Usage } from '@sluice/ai'
import * as formats from '@sluice/ai/formats'
import type { UsageFormat } from '@sluice/ai/formats'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { FOREIGN } from '../samples/formats/foreign.ts'
import { PROVIDERS } from '../samples/formats/index.ts'
import { TEXT, type Sample } from '../samples/formats/sample.ts'
import { bytesOf, ledger, sourceOf } from '../support.ts'

const ALL: readonly UsageFormat[] = Object.values(formats)
const page = readFileSync(new URL('../../../docs/call-charges.md', import.meta.url), 'utf8')
const table = tableOf(page, 'answers of')

const toBytes = (body: Sample['body']): Uint8Array<ArrayBuffer> =>
  typeof body === 'string' ? bytesOf(body) : body

/** The usage of an answer in these pieces, which must pass unchanged. */
async function usageOf(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  accepted: readonly UsageFormat[],
  type = '',
): Promise<Usage> {
  const book = ledger()
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const options = { settle: book.settle, formats: accepted, inputTokens: 77, onError }
  const passed = await new Response(meterStream(sourceOf(pieces).stream, options, type)).bytes()
  expect(Buffer.compare(passed, Buffer.concat(pieces))).toBe(0)
  expect(errors).toEqual([])
  expect(book.usages).toHaveLength(1)
  return book.settled
}

const whole = (body: Sample['body']): Uint8Array<ArrayBuffer>[] => [toBytes(body)]

describe.each(Object.entries(PROVIDERS))('the usage of %s', (_, provider) => {
  const samples = [...provider.json, ...provider.stream]
  const told = { source: 'provider', complete: true }

  it('is what the provider tells in each answer', async () => {
    for (const { body, type, usage } of samples) {
      expect(await usageOf(whole(body), provider.formats, type)).toMatchObject({
        ...usage,
        ...told,
      })
    }
  })

  it('is the same among all formats, and whatever the content-type', async () => {
    for (const { body, usage } of samples) {
      for (const accepted of [provider.formats, ALL, ALL.toReversed()]) {
        for (const type of ['', 'text/plain']) {
          expect(await usageOf(whole(body), accepted, type)).toMatchObject({ ...usage, ...told })
        }
      }
    }
  })

  it('is the same wherever the chunks are cut', async () => {
    const places = fc.array(fc.nat(1_000_000), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...samples), places, async ({ body, type, usage }, cuts) => {
        const bytes = toBytes(body)
        const at = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b)]
        const pieces = at.map((from, piece) => bytes.slice(from, at[piece + 1]))
        const found = await usageOf(pieces, provider.formats, type)
        expect(found).toMatchObject({ ...usage, ...told })
      }),
      { numRuns: 60, seed: 20_261_122 },
    )
  })

  it('is the same byte by byte', async () => {
    for (const { body, type, usage } of samples.filter((sample) => sample.body.length < 20_000)) {
      const pieces = Array.from(toBytes(body), (byte) => Uint8Array.of(byte))
      expect(await usageOf(pieces, provider.formats, type)).toMatchObject({ ...usage, ...told })
    }
  })

  it('is not complete if it is cut off, and counted at no less than its text', async () => {
    for (const { cut, type } of samples) {
      if (cut === undefined) continue
      const found = await usageOf(whole(cut), provider.formats, type)
      expect(found).toMatchObject({ source: 'counted', complete: false })
      expect(found.output).toBeGreaterThanOrEqual(estimateTokens(TEXT))
    }
  })

  it('is not complete if the last byte of JSON is missing', async () => {
    for (const { body, type } of provider.json) {
      const bytes = toBytes(body)
      const found = await usageOf([bytes.slice(0, -1)], provider.formats, type)
      expect(found).toMatchObject({ source: 'counted', complete: false })
    }
  })

  it('is counted by its text if it tells no usage', async () => {
    if (provider.silent === undefined) return
    const found = await usageOf(whole(provider.silent), provider.formats)
    expect(found).toMatchObject({ input: 77, source: 'counted', complete: false })
    expect(found.output).toBeGreaterThanOrEqual(estimateTokens(TEXT))
    // Texts are counted, and not their wrapping.
    expect(found.output).toBeLessThan(estimateTokens(TEXT) * 3)
  })
})

describe.each(Object.entries(formats))('the format %s', (_, format) => {
  it.each(Object.entries(FOREIGN))('takes no text from %s', async (__, body) => {
    for (const accepted of [[format], ALL, ALL.toReversed()]) {
      const { output } = await usageOf(whole(body), accepted)
      expect(output).toBeGreaterThanOrEqual(estimateTokens(TEXT))
    }
  })

  const others = Object.entries(PROVIDERS).filter(([, { formats: own }]) => !own.includes(format))
  it.each(others)('changes nothing for %s', async (__, provider) => {
    const bodies = [...provider.json, ...provider.stream].flatMap(({ body, cut }) => [body, cut])
    for (const body of [...bodies, provider.silent]) {
      if (body === undefined) continue
      for (const own of [[], provider.formats]) {
        const without = await usageOf(whole(body), own)
        const { reasoning, ...found } = await usageOf(whole(body), [format, ...own])
        expect({ ...found, ...('reasoning' in without && { reasoning }) }).toEqual(without)
      }
    }
  })
})

describe('the table of formats in docs/call-charges.md', () => {
  it('has each provider that needs a format, and no other', () => {
    const withFormat = Object.entries(PROVIDERS).filter(([, { from }]) => from !== '')
    expect([...table.keys()]).toEqual([...withFormat.map(([name]) => name), 'anything else'])
  })

  it('stands below the names of the others', () => {
    const without = Object.entries(PROVIDERS).filter(([, { from }]) => from === '')
    expect(without.length).toBeGreaterThan(4)
    const above = page.split('| answers of')[0]?.trim().split('\n\n').at(-1)
    for (const [name] of without) expect(above).toContain(name.replace(/,.*/, ''))
  })

  it.each(Object.entries(PROVIDERS))('tells where %s is imported from', (name, provider) => {
    const imported = /`(\w+)`/.exec(table.get(name)?.['format'] ?? '')?.[1] ?? ''
    expect(imported).toBe(provider.from)
    const found = Object.entries(formats).filter(([exported]) => exported === imported)
    expect(provider.formats).toEqual(found.map(([, format]) => format))
  })

  it('names every import', () => {
    // Below the table: it reads no other answers.
    const named = new Set(['reasoningTokens', ...Object.values(PROVIDERS).map(({ from }) => from)])
    expect(new Set(Object.keys(formats))).toEqual(new Set([...named].filter(Boolean)))
  })
})
