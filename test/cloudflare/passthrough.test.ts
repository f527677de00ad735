import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorker, type TestWorker } from './support.ts'

let worker: TestWorker
beforeAll(async () => {
  worker = await startWorker('passing')
})
afterAll(() => worker[Symbol.asyncDispose]())

describe('through a limited Worker', () => {
  it('a WebSocket opens and sends, as often as the limit allows', async () => {
    const url = new URL('/socket', worker.url.href.replace('http', 'ws'))
    for (let time = 0; time < 2; time += 1) {
      const socket = new WebSocket(url)
      await once(socket, 'open')
      socket.send('hello')
      const [event] = (await once(socket, 'message')) as [MessageEvent<string>]
      expect(event.data).toBe('echo hello')
      socket.close()
      await once(socket, 'close')
    }
    const denied = await fetch(new URL('/socket', worker.url))
    expect(denied.status).toBe(429)
  })

  it('a body streams both ways: each chunk is back before the next is sent', async () => {
    const outgoing = request(new URL('/stream', worker.url), { method: 'POST' })
    outgoing.write('one')
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    incoming.setEncoding('utf8')
    expect(await once(incoming, 'data')).toEqual(['one'])
    outgoing.write('two')
    expect(await once(incoming, 'data')).toEqual(['two'])
    outgoing.end()
    await once(incoming, 'end')
    expect(incoming.statusCode).toBe(200)
    expect(incoming.headers['ratelimit']).toMatch(/^"yearly";r=1;t=\d+$/)
  })

  it('a body that the handler has packed itself is not packed again', async () => {
    const headers = { 'x-packed': 'gzip', 'accept-encoding': 'gzip' }
    const body = gzipSync('hello')
    const answer = await fetch(new URL('/packed', worker.url), { method: 'POST', headers, body })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(await answer.text()).toBe('hello')
    expect(answer.headers.get('ratelimit')).toMatch(/^"yearly";r=1;t=\d+$/)
  })
})
