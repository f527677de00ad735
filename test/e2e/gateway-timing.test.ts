import { describe, expect, it } from 'vitest'
import { startNotes, type CallNotes } from '../../apps/worker/src/call-notes.ts'
import { callSettings } from '../../apps/worker/src/call-settings.ts'
import { endWhenIdle, type Clock } from '../../apps/worker/src/end-when-idle.ts'
import { createProviderStates } from '../../apps/worker/src/provider-states.ts'
import { createSending } from '../../apps/worker/src/sending.ts'

/** A clock that stands still until it is moved. */
function stillClock() {
  let time = 0
  const timers = new Set<{ at: number; call: () => void }>()
  const clock: Clock = {
    now: () => time,
    after(ms, call) {
      const timer = { at: time + ms, call }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  function move(ms: number): void {
    time += ms
    for (const timer of timers) {
      if (timer.at <= time && timers.delete(timer)) timer.call()
    }
  }
  return { clock, move, timers }
}

const REFUSED = () => Promise.reject(new Error('Network connection lost.'))
const ANSWER = () => Promise.resolve(new Response('{}'))

/** A provider that takes a call and says nothing. */
const silent = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')))
  })

const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

/** An answer whose chunks the test sends. */
function source() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let cancelled = 0
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: () => void (cancelled += 1),
  })
  return {
    stream,
    say: (word: string) => controller?.enqueue(new TextEncoder().encode(word)),
    close: () => controller?.close(),
    get cancelled() {
      return cancelled
    },
  }
}

function setUp(variables: Record<string, string> = {}) {
  const { clock, move, timers } = stillClock()
  const states = createProviderStates(() => clock.now())
  const sendTo = createSending(callSettings(variables), states, clock)
  const signal = new AbortController().signal
  /** Sends a call, and returns the answer, its notes, and true if it threw, which keeps the estimate. */
  async function send(
    answer: (signal: AbortSignal) => Promise<Response>,
    { tenant = 'acme', isFree = false } = {},
  ): Promise<{ answer: Response; notes: CallNotes; isKept: boolean }> {
    const notes = startNotes(new Request('http://gateway.example'))
    try {
      const call = { signal, subject: { tenant }, isFree }
      return { answer: await sendTo('openai', call, notes, answer), notes, isKept: false }
    } catch {
      return { answer: notes.answer ?? Response.error(), notes, isKept: true }
    }
  }
  return { send, move, timers, states }
}

describe('a provider that cannot be reached', () => {
  it('keeps three estimates of a tenant, and then one for each pause', async () => {
    const { send, move } = setUp({ PAUSE_SECONDS: '30' })
    let sent = 0
    const attempt = () => {
      sent += 1
      return REFUSED()
    }
    const kept: boolean[] = []
    // Thirteen calls have used up the dollar of a starter.
    for (let call = 0; call < 13; call += 1) kept.push((await send(attempt)).isKept)
    expect(kept.filter(Boolean)).toHaveLength(3)
    expect(sent).toBe(3)
    const { answer, notes } = await send(attempt)
    expect([answer.status, answer.headers.get('retry-after'), notes.outcome]).toEqual([
      503,
      '30',
      'paused',
    ])
    move(30_000)
    expect((await send(attempt)).isKept).toBe(true)
    expect((await send(attempt)).answer.status).toBe(503)
    move(30_000)
    expect((await send(ANSWER)).answer.status).toBe(200)
    // It answers again: the count begins anew.
    expect((await send(REFUSED)).isKept).toBe(true)
    expect((await send(ANSWER)).answer.status).toBe(200)
  })

  it('is asked by one call at a time after a pause', async () => {
    const { send, move } = setUp()
    for (let call = 0; call < 3; call += 1) await send(REFUSED)
    move(30_000)
    let answer: (() => void) | undefined
    const first = send(() => new Promise((resolve) => (answer = () => resolve(new Response('{}')))))
    expect((await send(ANSWER)).answer.status).toBe(503)
    answer?.()
    expect((await first).answer.status).toBe(200)
    expect((await send(ANSWER)).answer.status).toBe(200)
  })

  it('pauses no other tenant', async () => {
    const { send } = setUp()
    for (let call = 0; call < 5; call += 1) await send(REFUSED)
    expect((await send(ANSWER, { tenant: 'other' })).answer.status).toBe(200)
  })

  it('pauses nobody with PAUSE_SECONDS of 0', async () => {
    const { send } = setUp({ PAUSE_SECONDS: '0' })
    for (let call = 0; call < 13; call += 1) expect((await send(REFUSED)).isKept).toBe(true)
  })

  it.each([
    ['keep', true, 'Its estimate stays charged', null],
    ['release', false, 'The model is unreachable.', '1'],
  ] as const)(
    'with UNANSWERED=%s, keeps the charge: %s',
    async (UNANSWERED, isKept, text, wait) => {
      const { send } = setUp({ UNANSWERED })
      const sent = await send(REFUSED)
      expect([sent.isKept, sent.answer.status]).toEqual([isKept, 502])
      expect(sent.answer.headers.get('retry-after')).toBe(wait)
      expect(await sent.answer.text()).toContain(text)
    },
  )

  it('keeps nothing of a call that costs nothing', async () => {
    const { send } = setUp()
    const { isKept, answer } = await send(REFUSED, { isFree: true })
    expect([isKept, await answer.text()]).toEqual([false, expect.not.stringContaining('charged')])
  })

  it.each([
    [520, true],
    [521, false],
    [522, true],
    [523, false],
    [524, true],
    [525, false],
    [526, false],
    [530, false],
    // Anthropic is overloaded, and says so itself.
    [529, false],
    [500, false],
    [502, false],
    [503, false],
    [504, false],
    [429, false],
  ])('keeps the estimate of a call with Cloudflare’s %i: %s', async (status, isKept) => {
    const { send, states } = setUp()
    const sent = await send(() => Promise.resolve(new Response('error', { status })))
    expect([sent.isKept, sent.answer.status]).toEqual([isKept, isKept ? 502 : status])
    const outcome = isKept ? 'unreachable' : status === 429 ? 'rate_limited' : 'failed'
    expect(states.last('openai')).toEqual({ outcome, secondsAgo: 0 })
  })
})

describe('a provider that does not begin to answer', () => {
  it('is given up after ANSWER_TIMEOUT_SECONDS, with 504, and what stays charged is said', async () => {
    const { send, move, timers } = setUp({ ANSWER_TIMEOUT_SECONDS: '90' })
    const call = send(silent)
    await Promise.resolve()
    move(89_999)
    expect(timers.size).toBe(1)
    move(1)
    const { answer, isKept, notes } = await call
    expect([answer.status, isKept, notes.outcome]).toEqual([504, true, 'timed_out'])
    const text = await answer.text()
    expect(text).toContain('has not begun to answer within 90 s. Its estimate stays charged')
    expect(text).toContain('upstream_timeout')
    expect(timers.size).toBe(0)
  })

  it('pauses nobody: a long call of one tenant says nothing about the next', async () => {
    const { send, move } = setUp()
    for (let time = 0; time < 4; time += 1) {
      const call = send(silent)
      await Promise.resolve()
      move(600_000)
      expect((await call).answer.status).toBe(504)
    }
    expect((await send(ANSWER)).answer.status).toBe(200)
  })
})

describe('an answer that stops', () => {
  it('ends a stream with an error that both clients throw, and breaks it', async () => {
    const { send, move } = setUp({ IDLE_TIMEOUT_SECONDS: '60' })
    const { stream, say } = source()
    const headers = { 'content-type': 'text/event-stream' }
    const { answer } = await send(() => Promise.resolve(new Response(stream, { headers })))
    const reader = answer.body!.getReader()
    say('data: 1\n\n')
    expect(textOf((await reader.read()).value)).toBe('data: 1\n\n')
    const next = reader.read()
    await new Promise(setImmediate)
    move(60_000)
    expect(textOf((await next).value)).toMatch(
      /^\n\nevent: error\ndata: \{"type":"error","error":\{.*"code":"upstream_timeout"\}\}\n\n$/,
    )
    // An error at once could overtake the bytes before it.
    const end = reader.read()
    await new Promise(setImmediate)
    move(1_000)
    await expect(end).rejects.toThrow('The provider has stopped sending.')
  })

  it('breaks an answer of JSON, which has no place for an error', async () => {
    const { send, move } = setUp({ IDLE_TIMEOUT_SECONDS: '60' })
    const { stream, say } = source()
    const { answer } = await send(() => Promise.resolve(new Response(stream)))
    say('{"id":')
    const whole = answer.text()
    await new Promise(setImmediate)
    move(60_000)
    await expect(whole).rejects.toThrow('The provider has stopped sending.')
  })

  it('is a matter of its provider alone: a reader that pauses ends nothing', async () => {
    const { clock, move, timers } = stillClock()
    const from = source()
    const reader = endWhenIdle(from.stream, 1_000, () => undefined, clock).getReader()
    from.say('one')
    from.say('two')
    expect(textOf((await reader.read()).value)).toBe('one')
    for (let second = 0; second < 10; second += 1) move(1_000)
    expect(textOf((await reader.read()).value)).toBe('two')
    // The silence counts from the time at which a chunk is awaited.
    const last = reader.read()
    await new Promise(setImmediate)
    move(999)
    from.close()
    expect((await last).done).toBe(true)
    expect([timers.size, from.cancelled]).toEqual([0, 0])
  })

  it('is cancelled with its reader', async () => {
    const { clock, timers } = stillClock()
    const from = source()
    await endWhenIdle(from.stream, 1_000, () => undefined, clock).cancel()
    expect([timers.size, from.cancelled]).toEqual([0, 1])
  })
})

describe('a setting', () => {
  it.each([
    ['ANSWER_TIMEOUT_SECONDS', '0', '1 to 3300'],
    ['ANSWER_TIMEOUT_SECONDS', '3301', '1 to 3300'],
    ['IDLE_TIMEOUT_SECONDS', 'soon', '1 to 3300'],
    ['PAUSE_SECONDS', '-1', '0 to 3300'],
    ['MAX_BODY_BYTES', '1e9', '1 to '],
    ['UNANSWERED', 'free', 'keep or release'],
    ['INCOMPLETE', 'release', 'keep or counted'],
    ['LOG_CALLS', 'false', 'on or off'],
  ])('%s of %j is refused, with what is allowed', (name, value, allowed) => {
    expect(() => callSettings({ [name]: value })).toThrow(allowed)
    expect(() => callSettings({ [name]: value })).toThrow(name)
  })
})
