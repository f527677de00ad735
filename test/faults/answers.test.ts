import type { Decision, StoreErrorCode } from '@sluice/core'
import { describe, expect, it, vi } from 'vitest'
import { answer, breakOff, reset, standIn, type Behaviour } from '../support/stand-in.ts'
import { limiterAt, MODES, SECRET, subject, TENANT, TRANSPORTS } from './limiter.ts'

const OK = { 'content-type': 'application/json' }
const json = (status: number, value: unknown): Behaviour =>
  answer(status, JSON.stringify(value), OK)
/** A reply of the right length for two policies. */
const reply = (fill: unknown): unknown[] => Array.from({ length: 9 }, () => fill)

type Causes = readonly [builtIn: StoreErrorCode, client: StoreErrorCode]

const refused: Causes = ['store_refused', 'store_refused']
const unauthorized: Causes = ['store_unauthorized', 'store_unauthorized']
const badReply: Causes = ['store_bad_reply', 'store_bad_reply']
const unreachable: Causes = ['store_unreachable', 'store_unreachable']

/** The causes differ where the client's own errors do not tell more. */
const ANSWERS: Record<string, { behave: Behaviour; causes: Causes }> = {
  'HTML with status 200': { behave: answer(200, '<html>Sign in</html>'), causes: badReply },
  'HTML with status 502': {
    behave: answer(502, '<html>Bad gateway</html>'),
    causes: ['store_refused', 'store_bad_reply'],
  },
  'status 429': { behave: json(429, { error: 'Too many requests' }), causes: refused },
  'status 500': { behave: json(500, { error: 'ERR internal' }), causes: refused },
  'status 401': { behave: json(401, { error: 'WRONGPASS invalid token' }), causes: unauthorized },
  'status 400': { behave: json(400, { error: `ERR ${SECRET} ${TENANT}` }), causes: refused },
  'a Redis error with status 200': {
    behave: json(200, { error: `ERR ${SECRET} ${TENANT}` }),
    causes: ['store_refused', 'store_bad_reply'],
  },
  'status 500 and no text': {
    behave: answer(500, ''),
    causes: ['store_refused', 'store_bad_reply'],
  },
  '{}': { behave: json(200, {}), causes: badReply },
  '[]': { behave: json(200, []), causes: badReply },
  null: { behave: json(200, null), causes: ['store_bad_reply', 'store_unreachable'] },
  'a number': { behave: json(200, 7), causes: badReply },
  'an empty text': { behave: answer(200, ''), causes: badReply },
  'truncated JSON': { behave: answer(200, '{"result":[1,1,', OK), causes: badReply },
  'the result null': { behave: json(200, { result: null }), causes: badReply },
  'a result too short': { behave: json(200, { result: [1] }), causes: badReply },
  'a result too long': { behave: json(200, { result: [...reply(1), 1] }), causes: badReply },
  'a result of strings': { behave: json(200, { result: reply('one') }), causes: badReply },
  'a result of fractions': { behave: json(200, { result: reply(0.5) }), causes: badReply },
  'a result of nulls': { behave: json(200, { result: reply(null) }), causes: badReply },
  'a result of lists': { behave: json(200, { result: reply([1]) }), causes: badReply },
  'a result of unsafe numbers': {
    behave: answer(200, `{"result":[${reply('1e400').join()}]}`, OK),
    causes: badReply,
  },
  'a connection broken after the request': { behave: reset, causes: unreachable },
  'a connection broken within the answer': { behave: breakOff, causes: unreachable },
}

/** Everything that a user can see of a decision, and everything printed. */
function visibleText(
  decision: Decision,
  printed: readonly { mock: { calls: unknown[][] } }[],
): string {
  return JSON.stringify([decision, printed.map(({ mock }) => mock.calls)])
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  describe.each(Object.entries(ANSWERS))(
    'a store that answers with %s',
    (_, { behave, causes }) => {
      const cause = causes[TRANSPORTS.indexOf(transport)]

      it.each(MODES)('gets one request, and the decision is degraded: %s', async (mode) => {
        const server = await standIn(behave)
        const printed = (['log', 'warn', 'error', 'info', 'debug'] as const).map((level) =>
          vi.spyOn(console, level).mockImplementation(() => {}),
        )
        const decision = await limiterAt(server.url, transport, mode).check(subject)
        expect(decision.degraded).toEqual({ cause, mode })
        expect(decision.allowed).toBe(mode !== 'deny')
        expect(decision.policies).toHaveLength(mode === 'local' ? 2 : 0)
        expect(server.bodies).toHaveLength(1)
        const text = visibleText(decision, printed)
        expect(text).not.toContain(SECRET)
        expect(text).not.toContain(TENANT)
        vi.restoreAllMocks()
        await server.close()
      })

      it('makes reset throw an error without a secret', async () => {
        const server = await standIn(behave)
        const error: unknown = await limiterAt(server.url, transport, 'allow')
          .reset(subject)
          .catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ name: 'StoreError', code: cause })
        const { stack, cause: inner } = error as Error
        expect(`${stack} ${JSON.stringify(error)}`).not.toMatch(`${SECRET}|${TENANT}`)
        expect(inner).toBeUndefined()
        expect(server.bodies).toHaveLength(1)
        await server.close()
      })
    },
  )
})
