import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { limitedFetch, limitedModel, modelHandler, usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limiterWith, post, PRICES, QUESTION, subject, used } from '../doors.ts'

/** A server that takes a request and hangs up. */
const dying = createServer((request) => request.socket.destroy())
let closed = 0

beforeAll(async () => {
  dying.listen(0, '127.0.0.1')
  await once(dying, 'listening')
  const other = createTcpServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  closed = (other.address() as AddressInfo).port
  other.close()
  await once(other, 'close')
})
afterAll(() => dying.close())

const portOf = (): number => (dying.address() as AddressInfo).port

const PATH = '/v1/chat/completions'

/** The addresses that nothing can be sent to. */
const UNREACHABLE: Readonly<Record<string, () => string>> = {
  'a closed port': () => `http://127.0.0.1:${closed}${PATH}`,
  'a closed port of a name with several addresses': () => `http://localhost:${closed}${PATH}`,
  // Longer than a name may be, so that no server is asked.
  'a name that nobody has': () => `http://${'nobody'.repeat(11)}.invalid${PATH}`,
}

const options = { prices: PRICES, maxOutput: 1_000, onError: () => {} }

/** The ways to make a call whose sending is ours, and those whose sending is a user's. */
const OURS: Readonly<Record<string, (limiter: Limiter, url: string) => Promise<unknown>>> = {
  'modelHandler with an address': (limiter, url) =>
    modelHandler(limiter, { ...options, subject }, { url, key: 'none' })(post(QUESTION)),
  'limitedFetch with the default fetch': (limiter, url) =>
    limitedFetch(limiter, { ...options, subject: subject() })(url, {
      method: 'POST',
      body: JSON.stringify(QUESTION),
    }).catch(() => undefined),
}
const THEIRS: typeof OURS = {
  'modelHandler with a function': (limiter, url) =>
    modelHandler(limiter, { ...options, subject, api: 'openai-chat' }, ({ body }) =>
      fetch(url, { method: 'POST', body }),
    )(post(QUESTION)),
  'limitedFetch with a fetch of its own': (limiter, url) =>
    limitedFetch(limiter, { ...options, subject: subject(), fetch })(url, {
      method: 'POST',
      body: JSON.stringify(QUESTION),
    }).catch(() => undefined),
}

describe.each(Object.entries(OURS))('%s', (_, call) => {
  it.each(Object.entries(UNREACHABLE))('charges nothing for %s', async (__, urlOf) => {
    // Money for one call: what is given back lets the next one in.
    const limiter = limiterWith(usd(0.011))
    for (let time = 0; time < 20; time += 1) {
      await call(limiter, urlOf())
      await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    }
    expect(await used(limiter, 'budget.daily')).toBe(0)
    expect(await used(limiter, 'rpm')).toBe(0)
  })

  it('keeps the estimate where the connection ended after it was made', async () => {
    const limiter = limiterWith(usd(1))
    await call(limiter, `http://127.0.0.1:${portOf()}${PATH}`)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10 * 1_000)
  })
})

describe.each(Object.entries(THEIRS))('%s', (_, call) => {
  it('keeps the estimate, because nobody knows what was tried before', async () => {
    const limiter = limiterWith(usd(1))
    await call(limiter, `http://127.0.0.1:${closed}${PATH}`)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10 * 1_000)
  })
})

describe('a call whose client is gone before it is sent', () => {
  const gone = AbortSignal.abort(new Error('gone'))

  it('is not sent by modelHandler and costs nothing', async () => {
    const limiter = limiterWith(usd(1))
    const handle = modelHandler(limiter, { ...options, subject, api: 'openai-chat' }, () =>
      expect.unreachable(),
    )
    const request = new Request(post(QUESTION), { signal: gone })
    expect((await handle(request)).status).toBe(499)
    await expect.poll(() => used(limiter, 'rpm')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBe(0)
  })

  it('is not sent by limitedFetch and costs nothing', async () => {
    const limiter = limiterWith(usd(1))
    const limited = limitedFetch(limiter, {
      ...options,
      subject: subject(),
      fetch: () => expect.unreachable(),
    })
    const init = { method: 'POST', body: JSON.stringify(QUESTION), signal: gone }
    await expect(limited(`https://provider.test${PATH}`, init)).rejects.toThrow('gone')
    await expect.poll(() => used(limiter, 'rpm')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBe(0)
  })
  it('is not sent by limitedModel and costs nothing', async () => {
    const limiter = limiterWith(usd(1))
    const model = {
      specificationVersion: 'v3',
      provider: 'p',
      modelId: 'gpt-4o',
      doGenerate: async (_call: object) => expect.unreachable(),
      doStream: async (_call: object) => expect.unreachable(),
    }
    const limited = limitedModel(model, limiter, { ...options, subject: subject() })
    const call = { prompt: [{ role: 'user', content: [] }], abortSignal: gone }
    await expect(limited.doGenerate(call)).rejects.toThrow('gone')
    await expect(limited.doStream(call)).rejects.toThrow('gone')
    await expect.poll(() => used(limiter, 'rpm')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBe(0)
  })
})
