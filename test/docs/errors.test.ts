import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const source = readFileSync(new URL('../../packages/core/src/errors.ts', import.meta.url), 'utf8')

describe('the page of errors', () => {
  it('has exactly one section for each code', () => {
    const unions = source.matchAll(/export type \w+ErrorCode =((?:\s*\|?\s*'\w+')+)/g)
    const codes = Array.from(unions, (union) => union[1]?.match(/\w+/g) ?? []).flat()
    const sections = Array.from(page.matchAll(/^### `(\w+)`$/gm), (match) => match[1])
    expect(codes.length).toBeGreaterThan(10)
    expect(new Set(sections)).toEqual(new Set(codes))
    expect(sections).toHaveLength(codes.length)
  })
})
