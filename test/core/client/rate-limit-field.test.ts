import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  option,
  record,
  string,
} from 'fast-check'
import { serializeList } from 'structured-headers'
import { expect, it } from 'vitest'
import { ADDRESS, clientOf, refused } from './support.ts'

/** A policy of the field: its name may have any printable character, and its state other parameters. */
const item = record({
  name: string({
    unit: integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCodePoint(n)),
  }),
  r: integer({ min: 0, max: 3 }),
  t: integer({ min: 1, max: 3_600 }),
  pk: option(constantFrom(';r=0;t=1', ', "x";r=0;t=2', 'a\\"b')),
})

it('reads every RateLimit field that a library for structured fields writes', async () => {
  await assert(
    asyncProperty(array(item, { minLength: 1, maxLength: 4 }), async (items) => {
      const field = serializeList(
        items.map(({ name, r, t, pk }) => [
          name,
          new Map<string, number | string>([
            ...(pk === null ? [] : [['pk', pk] as const]),
            ['r', r],
            ['t', t],
          ]),
        ]),
      )
      const spent = items.filter(({ r }) => r === 0)
      const longest = Math.max(...(spent.length > 0 ? spent : items).map(({ t }) => t))
      const { send, waits } = clientOf([refused({ RateLimit: field })], { maxWaitMs: 3_600_000 })
      await send(ADDRESS)
      expect(waits).toEqual([longest * 1_000])
    }),
  )
})
