import { afterEach, describe, expect, it, vi } from 'vitest'
import { CHATS, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES } from './addresses.ts'
import { DOORS, judge, TERMS, type Address } from './doors.ts'
import type { Rows } from './fields/shared.ts'
import { TABLES } from './fields/tables.ts'

const ADDRESSES = [CHATS, RESPONSES, COMPLETIONS, EMBEDDINGS, MESSAGES].flat()
const CELLS = Object.keys(DOORS).flatMap((door) =>
  ADDRESSES.map((address) => ({ door, address, name: `${address.model} at ${address.url}` })),
)

afterEach(() => vi.unstubAllGlobals())

/** Runs all rows of a table at an address under all terms, and returns the cells that are wrong. */
async function wrongCells(door: string, address: Address, rows: Rows, mustBeSent: boolean) {
  const wrong: string[] = []
  const { question } = TABLES[address.api]
  const canStream = address.api !== 'openai-embeddings'
  for (const [row, fields] of Object.entries(rows)) {
    for (const [terms, term] of Object.entries(TERMS)) {
      for (const stream of canStream ? [false, true] : [false]) {
        const text =
          typeof fields === 'string'
            ? fields.replace('MODEL', address.model)
            : JSON.stringify({
                model: address.model,
                ...question,
                ...(stream && { stream }),
                ...fields,
              })
        const outcome = await judge(DOORS[door] as never, address, text, term)
        const isRight =
          outcome === 'sent' || (!mustBeSent && /^(refused|turned away)$/.test(outcome))
        if (!isRight) wrong.push(`${row}; ${terms}${stream ? ', streamed' : ''}: ${outcome}`)
      }
    }
  }
  return wrong
}

describe.each(CELLS)('through $door, $name', ({ door, address }) => {
  const { tokensOnly, costsMore } = TABLES[address.api]

  it('sends what costs tokens only, and charges what is billed', async () => {
    expect(await wrongCells(door, address, tokensOnly, true)).toEqual([])
  })

  it('refuses what costs more, or charges what is billed', async () => {
    expect(await wrongCells(door, address, costsMore, false)).toEqual([])
  })
})
