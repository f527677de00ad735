import { startLocal } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post, send } from './client.ts'

describe.each(['redis-server', 'embedded'] as const)('the REST protocol on %s', (engine) => {
  let server: LocalServer

  beforeAll(async () => {
    server = await startLocal({ engine, token: 'right-token' })
  })
  afterAll(async () => {
    await server.close()
  })
  beforeEach(async () => {
    await post(server, '/', ['FLUSHALL'])
  })

  const get = (path: string): ReturnType<typeof send> =>
    send(server, path, { headers: { authorization: 'Bearer right-token' } })

  const raw = async (body: string): Promise<string> => {
    const headers = { authorization: 'Bearer right-token' }
    return (await fetch(server.url, { method: 'POST', headers, body })).text()
  }

  it.each(['/', '/pipeline', '/multi-exec', '/get/a', '/anything/else'])(
    'refuses %s without the right token, with nothing run',
    async (path) => {
      const body = path === '/' ? ['SET', 'a', '1'] : [['SET', 'a', '1']]
      const wrong = [
        'Bearer wrong-token',
        'Bearer right-token2',
        'Bearer ',
        'right-token',
        'Basic x',
      ]
      for (const authorization of [undefined, ...wrong]) {
        const headers = authorization === undefined ? {} : { authorization }
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        const answer = await send(server, path, init)
        expect(answer.status).toBe(401)
        expect(answer.body).toEqual({ error: expect.stringContaining('auth token') as string })
        expect(JSON.stringify(answer.body)).not.toContain('right-token')
      }
      expect((await send(server, `${path}?_token=wrong-token`)).status).toBe(401)
      expect((await post(server, '/', ['GET', 'a'])).body).toEqual({ result: null })
    },
  )

  it('accepts the token as a query parameter, which is not an argument', async () => {
    const answer = await send(server, '/set/a/1?EX=100&_token=right-token')
    expect(answer.body).toEqual({ result: 'OK' })
    expect((await get('/ttl/a')).body).toEqual({ result: 100 })
  })

  it('answers one command with its result, integers as numbers', async () => {
    expect((await post(server, '/', ['SET', 'a', 41])).body).toEqual({ result: 'OK' })
    expect((await post(server, '/', ['INCR', 'a'])).body).toEqual({ result: 42 })
    expect((await post(server, '/', ['GET', 'a'])).body).toEqual({ result: '42' })
    expect((await post(server, '/', ['GET', 'none'])).body).toEqual({ result: null })
    expect((await post(server, '/', ['SET', 'a', true])).body).toEqual({ result: 'OK' })
    expect((await post(server, '/', ['GET', 'a'])).body).toEqual({ result: 'true' })
  })

  it('sends a sync token with every answer', async () => {
    const first = await post(server, '/', ['PING'])
    expect(first.headers.get('upstash-sync-token')).toMatch(/^\S+$/)
    expect(first.headers.get('content-type')).toBe('application/json')
  })

  it.each([
    ['a failed command', ['NOPE', 'x'], "ERR unknown command 'NOPE'"],
    ['a wrong type', ['EVAL', "return redis.call('INCR', KEYS[1])", 1, 'text'], 'ERR value is not'],
    ['an empty body', '', 'ERR empty'],
    ['malformed JSON', '["GET", ', 'ERR failed to parse'],
    ['a number with zeros ahead', '["SET", "a", 012345678901234567]', 'ERR failed to parse'],
    ['an object', { command: 'GET' }, 'ERR failed to parse'],
    ['a text', '"GET"', 'ERR failed to parse'],
    ['an empty array', [], 'ERR empty command'],
    ['null as an argument', ['SET', 'a', null], 'ERR failed to parse'],
    ['an array as an argument', ['SET', 'a', ['b']], 'ERR failed to parse'],
    ['an empty name', [''], 'ERR empty command'],
  ])('answers 400 to %s', async (_, body, message) => {
    await post(server, '/', ['SET', 'text', 'x'])
    const answer = await post(server, '/', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: expect.stringContaining(message) as string })
  })

  it.each(['/pipeline', '/multi-exec'])('answers 400 to malformed bodies on %s', async (path) => {
    for (const body of ['', '{', '{}', '[]', '["GET","a"]', '[[]]', '[["GET",null]]']) {
      expect((await post(server, path, body)).status).toBe(400)
    }
  })

  it('runs a pipeline past a failing member', async () => {
    const commands = [
      ['SET', 'a', 'x'],
      ['INCR', 'a'],
      ['SUBSCRIBE', 'c'],
      ['GET', 'a'],
    ]
    const answer = await post(server, '/pipeline', commands)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual([
      { result: 'OK' },
      { error: 'ERR value is not an integer or out of range' },
      { error: expect.stringContaining("not available: 'SUBSCRIBE'") as string },
      { result: 'x' },
    ])
  })

  it('runs a transaction past a member that fails, and discards one that cannot be queued', async () => {
    const ran = await post(server, '/multi-exec', [
      ['SET', 'a', 'x'],
      ['INCR', 'a'],
      ['GET', 'a'],
    ])
    expect(ran.status).toBe(200)
    expect(ran.body).toEqual([
      { result: 'OK' },
      { error: 'ERR value is not an integer or out of range' },
      { result: 'x' },
    ])
    for (const bad of [['GET'], ['NOPE'], ['SUBSCRIBE', 'c']]) {
      const discarded = await post(server, '/multi-exec', [['SET', 'a', 'y'], bad])
      expect(discarded.status).toBe(400)
      expect(discarded.body).toEqual({ error: expect.stringMatching(/^EXECABORT /) as string })
    }
    expect((await post(server, '/', ['GET', 'a'])).body).toEqual({ result: 'x' })
  })

  it('runs no other command between those of a transaction', async () => {
    const transaction = [
      ['INCR', 'a'],
      ['INCR', 'b'],
      ['MGET', 'a', 'b'],
    ]
    const sent = Array.from({ length: 100 }, async (_, index) =>
      index % 2 === 0 ? post(server, '/multi-exec', transaction) : post(server, '/', ['INCR', 'a']),
    )
    let previous = 0
    const answers = (await Promise.all(sent)).filter(({ body }) => Array.isArray(body))
    for (const { body } of answers) {
      const [a, b, both] = body as [{ result: number }, { result: number }, { result: string[] }]
      expect(both.result).toEqual([String(a.result), String(b.result)])
      previous = Math.max(previous, b.result)
    }
    expect(previous).toBe(50)
  })

  it('encodes strings as base64, but a bare OK, null and integers', async () => {
    const base64 = { 'upstash-encoding': 'base64' }
    const ask = async (command: unknown): Promise<unknown> =>
      (await post(server, '/', command, base64)).body
    expect(await ask(['SET', 'a', 'é'])).toEqual({ result: 'OK' })
    expect(await ask(['GET', 'a'])).toEqual({ result: 'w6k=' })
    expect(await ask(['GET', 'none'])).toEqual({ result: null })
    expect(await ask(['STRLEN', 'a'])).toEqual({ result: 2 })
    const nested = ['EVAL', "return { 'OK', 1, { 'é', false, { 'x' } } }", 0]
    expect(await ask(nested)).toEqual({ result: ['T0s=', 1, ['w6k=', null, ['eA==']]] })
    const rows = [
      ['GET', 'a'],
      ['GET', 'none'],
    ]
    for (const path of ['/pipeline', '/multi-exec']) {
      const { body } = await post(server, path, rows, base64)
      expect(body).toEqual([{ result: 'w6k=' }, { result: null }])
    }
  })

  it('takes commands as paths, with the body ahead of the query', async () => {
    expect((await get('/set/a%2Fb/1')).body).toEqual({ result: 'OK' })
    expect((await get('/get/a%2Fb')).body).toEqual({ result: '1' })
    expect((await post(server, '/set/c?EX=100', '{"x":1}')).body).toEqual({ result: 'OK' })
    expect((await get('/get/c')).body).toEqual({ result: '{"x":1}' })
    expect((await get('/ttl/c')).body).toEqual({ result: 100 })
    expect((await get('/set/c/2?NX')).body).toEqual({ result: null })
    expect((await get('/get/%zz')).status).toBe(400)
    expect((await get('/')).status).toBe(400)
  })

  it('answers HEAD without a body and other methods with 405', async () => {
    const headers = { authorization: 'Bearer right-token' }
    expect(await send(server, '/get/a', { method: 'HEAD', headers })).toMatchObject({ status: 200 })
    expect((await send(server, '/get/a', { method: 'DELETE', headers })).status).toBe(405)
  })

  it.each(
    `SUBSCRIBE MONITOR BLPOP BRPOP MULTI EXEC SELECT QUIT AUTH HELLO CLIENT WATCH SHUTDOWN
    CONFIG DEBUG`.split(/\s+/),
  )('has no %s', async (name) => {
    const answer = await post(server, '/', [name.toLowerCase(), 'x', '0'])
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: expect.stringContaining(`'${name}'`) as string })
    expect((await post(server, '/', ['PING'])).body).toEqual({ result: 'PONG' })
  })

  it('keeps integers above 2^53 exact, in and out', async () => {
    expect(await raw('["SET", "n", 9223372036854775806]')).toBe('{"result":"OK"}')
    expect(await raw('["INCR", "n"]')).toBe('{"result":9223372036854775807}')
    expect(await raw('["GET", "n"]')).toBe('{"result":"9223372036854775807"}')
    expect(await raw('["SET", "t", "a \\" 9223372036854775806"]')).toBe('{"result":"OK"}')
    expect(await raw('["GET", "t"]')).toBe('{"result":"a \\" 9223372036854775806"}')
  })

  it('has no response format other than JSON', async () => {
    const resp2 = { 'upstash-response-format': 'resp2' }
    expect((await post(server, '/', ['PING'], resp2)).status).toBe(400)
  })

  it('refuses a body above 10 MiB and goes on', async () => {
    const huge = JSON.stringify(['SET', 'a', 'x'.repeat(11 * 1024 * 1024)])
    // The connection may be gone before all of it is sent: then fetch has no answer to show.
    const status = await post(server, '/', huge).then(
      (answer) => answer.status,
      () => 413,
    )
    expect(status).toBe(413)
    expect((await post(server, '/', ['GET', 'a'])).body).toEqual({ result: null })
  })

  it('counts the requests it answered', async () => {
    const before = server.requests
    await post(server, '/pipeline', [['PING'], ['PING']])
    await send(server, '/')
    expect(server.requests - before).toBe(2)
  })
})
