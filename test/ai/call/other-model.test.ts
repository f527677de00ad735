/* The body of a call for another model: each field of the table, by format and kind of model. */
import { describe, expect, it } from 'vitest'
import { bodyForModel } from '../../../packages/ai/src/call/other-model.ts'
import type { ModelApi } from '@sluice/ai'
import { CHANGED } from './other-model/changed.ts'
import { PASSED } from './other-model/passed.ts'
import { REFUSED } from './other-model/refused.ts'
import type { Row } from './other-model/rows.ts'

const ALL: readonly Row[] = [...CHANGED, ...PASSED, ...REFUSED].map(([row]) => row)

const adapt = ([api, from, to, body]: Row) => bodyForModel(api, body, { from, to })
const titled = <Each extends readonly [Row, ...unknown[]]>(rows: readonly Each[]) =>
  rows.map((row) => {
    const [api, from, to, body] = row[0]
    return [`${api}, ${from} to ${to}: ${JSON.stringify(body).slice(0, 120)}`, ...row] as const
  })

describe('a body for another model', () => {
  it.each(titled(CHANGED))('is changed where that is harmless: %s', (_, row, body, changed) => {
    const sent = structuredClone(row[3])
    expect(adapt(row)).toEqual({ body, changed })
    // The next model in the list gets the body as it was.
    expect(row[3]).toEqual(sent)
  })

  it.each(titled(PASSED))('is the very same if the model takes it: %s', (_, row) => {
    expect(adapt(row)).toEqual({ body: row[3], changed: [] })
    expect((adapt(row) as { body: unknown }).body).toBe(row[3])
  })

  it.each(titled(REFUSED))(
    'is refused where the caller needs the field: %s',
    (_, row, field, because) => {
      expect(adapt(row)).toEqual({
        refused: field,
        reason: `${row[2]} cannot take the field ${field}: ${because}.`,
      })
    },
  )

  it.each(titled([...CHANGED, ...REFUSED].map(([row]) => [row] as const)))(
    'is the very same for the model that it was written for: %s',
    (_, [api, , to, body]) => {
      for (const from of [to, to.toUpperCase()]) {
        expect((adapt([api, from, to, body]) as { body: unknown }).body).toBe(body)
      }
    },
  )

  it('keeps fields that the table does not know, whatever the models', () => {
    const body = { input: 'Hi', messages: [{ role: 'user', content: 'Hi' }], foo: { bar: [1] } }
    const names = [...new Set(ALL.flatMap(([, from, to]) => [from, to, `openai/${from}`]))]
    const apis: readonly (ModelApi | undefined)[] = [...new Set(ALL.map(([api]) => api))]
    const others = apis.flatMap((api) =>
      names.flatMap((from) =>
        names
          .filter((to) => !(api === 'openai-chat' && /pro|codex/.test(to)))
          .map((to) => bodyForModel(api, body, { from, to })),
      ),
    )
    expect(others.length).toBeGreaterThan(2_000)
    expect(others.filter((one) => !('body' in one) || one.body !== body)).toEqual([])
  })

  it.each([
    ['gpt-4o', 128_000],
    ['openai/gpt-6-luna', 1_050_000],
    ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 200_000],
    ['ft:gpt-4o-mini-2024-07-18:acme::x', 128_000],
  ])('is refused by %s above %i tokens of input', (to, most) => {
    const body = { messages: [{ role: 'user', content: 'Hi' }] }
    const of = (input: number) =>
      bodyForModel(undefined, body, { from: 'gemini-4-neon', to, input })
    expect(of(most)).toEqual({ body, changed: [] })
    expect(of(most + 1)).toEqual({
      refused: 'messages',
      reason: `${to} cannot take the field messages: it reads at most ${most} tokens, and the call has about ${most + 1}.`,
    })
  })

  it('of a model that nobody knows is not refused for its length', () => {
    const change = { from: 'gpt-4o', to: 'my-model', input: 10 ** 9 }
    expect(bodyForModel('openai-chat', {}, change)).toEqual({ body: {}, changed: [] })
  })
})
