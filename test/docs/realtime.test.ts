import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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

afterEach(() => vi.restoreAllMocks())

const blockOf = <Exports>(name: string): Promise<Exports> =>
  importBlock<Exports>(folder, PAGE, name)

interface Create {
  readonly type: string
  readonly event_id: string
  readonly response: { readonly metadata: { readonly id: string } }
}

async function start(send: (event: Create) => void) {
  const { limitResponses } = await blockOf<{
    limitResponses: (
      tenant: string,
      send: (event: Create) => void,
    ) => { respond: () => Promise<boolean>; onEvent: OnEvent }
  }>('realtime.ts')
  return limitResponses('acme', send)
}

describe('a session of the Realtime API', () => {
  it('asks for a response while the budget has room, and settles what it reports', async () => {
    const sent: Create[] = []
    const { respond, onEvent } = await start((event) => sent.push(event))

    const asked = [await respond(), await respond(), await respond(), await respond()]
    expect([...asked, await respond()]).toEqual([true, true, true, true, false])
    expect(new Set(sent.map(({ event_id }) => event_id)).size).toBe(4)
    expect(sent).toEqual(
      sent.map(({ event_id: id }) => {
        const response = { max_output_tokens: 1_000, metadata: { id } }
        return { type: 'response.create', event_id: id, response }
      }),
    )
    const done = (at: number, response: object) =>
      onEvent({ type: 'response.done', response: { ...sent[at]?.response, ...response } })
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
    // Such as one that the API began by itself: it has no reservation.
    await onEvent({ type: 'response.done', response: { metadata: null, usage } })
    expect(await left()).toBe(0)
    await done(1, { status: 'completed', usage })
    // Text: 55 at $4, 64 cached at $0.40 and 30 at $24 a million; sound: 13 at $32 and 91 at $64.
    const cost = Math.ceil(55 * 4 + 64 * 0.4 + 30 * 24) + 13 * 32 + 91 * 64
    expect(await left()).toBe(usd(0.25) - cost)
    await done(0, { status: 'failed' })
    await done(2, { status: 'failed', usage: null })
    expect(await left()).toBe(usd(0.25) - cost)
    expect(await respond()).toBe(false)
    const nothing = { input_token_details: null, output_token_details: null }
    await done(3, { status: 'cancelled', usage: nothing })
    expect(await left()).toBe(usd(0.5) - cost)
  })

  it('gives back a response that could not be sent, or that the API refuses', async () => {
    let isOpen = false
    const sent: Create[] = []
    const { respond, onEvent } = await start((event) => {
      if (!isOpen) throw new Error('The socket is closed.')
      sent.push(event)
    })
    await expect(respond()).rejects.toThrow('The socket is closed.')
    expect(await left()).toBe(usd(1))
    isOpen = true
    await respond()
    await onEvent({ type: 'error', error: { code: 'session_expired', event_id: null } })
    await onEvent({ type: 'error', error: { code: 'invalid_value', event_id: 'of another event' } })
    expect(await left()).toBe(usd(0.75))
    const code = 'conversation_already_has_active_response'
    await onEvent({ type: 'error', error: { code, event_id: sent[0]?.event_id } })
    expect(await left()).toBe(usd(1))
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

    await onEvent?.({ type: 'session.usage.updated' })
    await onEvent?.({ type: 'session.usage.updated', usage: null })
    await onEvent?.({ type: 'session.usage.updated', usage: { seconds: 90.5 } })
    expect(sent).toEqual([])
    await onEvent?.({ type: 'session.usage.updated', usage: { seconds: 600 } })
    expect(sent).toEqual([{ type: 'session.close' }])
    await onEvent?.({ type: 'session.closed', usage: { seconds: 90.5 } })
    expect(await left()).toBe(usd(1) - 90_500)
  })

  it.each([
    ['nothing', null, usd(0.4)],
    ['no second, as one that did not start', { seconds: 0 }, usd(1)],
  ])('that reports %s is settled', async (_name, usage, remaining) => {
    const { limitSession } = await blockOf<{
      limitSession: (tenant: string, send: () => void) => Promise<OnEvent | undefined>
    }>('session.ts')
    const onEvent = await limitSession('acme', () => undefined)
    await onEvent?.({ type: 'session.closed', usage })
    expect(await left()).toBe(remaining)
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

/** Returns a function that connects a socket of a user. */
async function opening() {
  const { connect } = await blockOf<{
    connect: (user: string, socket: TestSocket, answer: (text: string) => string) => void
  }>('messages.ts')
  return (user = 'u_17', answer = (text: string) => `You said ${text}.`): TestSocket => {
    const socket = new TestSocket()
    connect(user, socket, answer)
    return socket
  }
}

describe('the messages of a WebSocket', () => {
  it('are answered 60 times a minute, on two connections of a user', async () => {
    const open = await opening()
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

  it('closes a third connection before it says anything', async () => {
    const open = await opening()
    const sockets = Array.from({ length: 20 }, () => open('u_silent'))
    await vi.waitFor(
      () => expect(sockets.flatMap(({ closed }) => closed)).toEqual(Array<number>(18).fill(1013)),
      10_000,
    )
  })

  it('closes the one socket whose user or answer is an error', async () => {
    const errors = vi.spyOn(console, 'error').mockReturnValue()
    const open = await opening()
    const nobody = open('')
    const failing = open('u_18', () => {
      throw new Error('not a command')
    })
    failing.receive('hello')
    const other = open('u_18')
    other.receive('hello')
    await vi.waitFor(() => expect(other.sent).toHaveLength(1), 10_000)
    const closed = () => [nobody.closed, failing.closed]
    await vi.waitFor(() => expect(closed()).toEqual([[1011], [1011]]), 10_000)
    nobody.dispatchEvent(new Event('close'))
    expect([other.closed, nobody.sent, failing.sent]).toEqual([[], [], []])
    expect(errors.mock.calls.map(String).join()).toMatch(/user[^]*not a command/)
  })
})
