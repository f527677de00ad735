import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { NOON } from '../support/times.ts'

const PAGE = 'recipes/realtime.md'
const daily = { name: 'daily', limit: usd(1), unit: 'usd', per: ['tenant'] } as const
let folder: string
let left: () => Promise<number | undefined>

type OnEvent = (event: object) => Promise<void>

beforeEach(async () => {
  folder = await pageFolder('realtime')
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [dailyCap(daily)],
  })
  left = async () =>
    (await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })).policies[0]?.remaining
  vi.stubGlobal('limiter', limiter)
  writeFileSync(join(folder, 'limits.ts'), 'export const { limiter } = globalThis')
})

const blockOf = <Exports>(name: string): Promise<Exports> =>
  importBlock<Exports>(folder, PAGE, name)

describe('a session of the Realtime API', () => {
  it('asks for a response while the budget has room, and settles what it reports', async () => {
    const { limitResponses } = await blockOf<{
      limitResponses: (
        tenant: string,
        send: (event: object) => void,
      ) => { respond: () => Promise<boolean>; onEvent: OnEvent }
    }>('realtime.ts')
    const sent: object[] = []
    const { respond, onEvent } = limitResponses('acme', (event) => sent.push(event))

    const asked = [await respond(), await respond(), await respond(), await respond()]
    expect([...asked, await respond()]).toEqual([true, true, true, true, false])
    const response = { max_output_tokens: 1_000 }
    expect(sent).toEqual(Array.from({ length: 4 }, () => ({ type: 'response.create', response })))
    const usage = {
      input_tokens: 132,
      output_tokens: 121,
      input_token_details: {
        text_tokens: 119,
        audio_tokens: 13,
        cached_tokens_details: { text_tokens: 64, audio_tokens: 0 },
      },
      output_token_details: { text_tokens: 30, audio_tokens: 91 },
    }
    await onEvent({ type: 'response.created', response: {} })
    expect(await left()).toBe(0)
    await onEvent({ type: 'response.done', response: { status: 'completed', usage } })
    // Text: 55 at $4, 64 cached at $0.40 and 30 at $24 a million; sound: 13 at $32 and 91 at $64.
    const cost = Math.ceil(55 * 4 + 64 * 0.4 + 30 * 24) + 13 * 32 + 91 * 64
    expect(await left()).toBe(usd(0.25) - cost)
    await onEvent({ type: 'response.done', response: { status: 'failed' } })
    expect(await left()).toBe(usd(0.25) - cost)
    expect(await respond()).toBe(false)
  })
})

describe('a session that is billed by the second', () => {
  it('ends with the seconds that are reserved, and is settled at those it has used', async () => {
    const { limitSession } = await blockOf<{
      limitSession: (tenant: string, send: (event: object) => void) => Promise<OnEvent | undefined>
    }>('session.ts')
    const sent: object[] = []
    const onEvent = await limitSession('acme', (event) => sent.push(event))
    expect(await left()).toBe(usd(0.4))
    expect(await limitSession('acme', () => undefined)).toBeUndefined()

    await onEvent?.({ type: 'session.usage.updated', usage: { seconds: 90.5 } })
    expect(sent).toEqual([])
    await onEvent?.({ type: 'session.usage.updated', usage: { seconds: 600 } })
    expect(sent).toEqual([{ type: 'session.close' }])
    await onEvent?.({ type: 'session.closed', usage: { seconds: 90.5 } })
    expect(await left()).toBe(usd(1) - 90_500)
  })
})

/** A socket whose other end is the test. */
class TestSocket extends EventTarget {
  readonly sent: string[] = []
  readonly closed: number[] = []
  send(text: string): void {
    this.sent.push(text)
  }
  close(code: number): void {
    this.closed.push(code)
  }
  receive(data: string): void {
    this.dispatchEvent(new MessageEvent('message', { data }))
  }
}

describe('the messages of a WebSocket', () => {
  it('are answered 60 times a minute, on two connections of a user', async () => {
    const { connect } = await blockOf<{
      connect: (user: string, socket: TestSocket, answer: (text: string) => string) => void
    }>('messages.ts')
    const open = (): TestSocket => {
      const socket = new TestSocket()
      connect('u_17', socket, (text) => `You said ${text}.`)
      return socket
    }
    const first = open()
    for (let sent = 0; sent < 61; sent += 1) first.receive('hello')
    await vi.waitFor(() => expect(first.sent).toHaveLength(61), 10_000)
    const denied = first.sent.filter((text) => text !== 'You said hello.')
    expect(denied.map((text) => JSON.parse(text) as object)).toEqual([
      { error: 'rate_limit_exceeded', retryAfterMs: expect.any(Number) as number },
    ])

    const second = open()
    second.receive('hello')
    await vi.waitFor(() => expect(second.sent).toHaveLength(1), 10_000)
    const third = open()
    third.receive('hello')
    await vi.waitFor(() => expect(third.closed).toEqual([1013]), 10_000)
    expect(third.sent).toEqual([])
    first.dispatchEvent(new Event('close'))
    await vi.waitFor(async () => {
      const next = open()
      next.receive('hello')
      await vi.waitFor(() => expect([...next.sent, ...next.closed]).toHaveLength(1), 10_000)
      expect(next.closed).toEqual([])
    }, 10_000)
  })
})
