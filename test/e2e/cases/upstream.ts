import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { newTenant } from '../support/target.ts'
import type { Case } from './case.ts'

export const upstream: readonly Case[] = [
  {
    claim: 'passes a stream on chunk by chunk, while the model is still speaking',
    async check(target) {
      const chunks = ['data: {"choices":[]}\n\n', 'data: {"choices":[1]}\n\n', 'data: [DONE]\n\n']
      const model = new Promise<ServerResponse>((resolve) => {
        target.upstream.respond = (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.flushHeaders()
          resolve(response)
        }
      })
      const send = await newTenant(target)
      const pending = send()
      const speaking = await model
      speaking.write(chunks[0])
      const answer = await pending
      expect(answer.headers.get('content-type')).toContain('text/event-stream')
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('19')
      const reader = (answer.body as ReadableStream<Uint8Array>)
        .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
        .getReader()
      // The model says the next thing only after the caller has heard the last one.
      expect((await reader.read()).value).toBe(chunks[0])
      speaking.write(chunks[1])
      expect((await reader.read()).value).toBe(chunks[1])
      speaking.end(chunks[2])
      expect((await reader.read()).value).toBe(chunks[2])
      expect((await reader.read()).done).toBe(true)
      const request = target.upstream.requests.at(-1)
      expect(request?.path).toBe('/v1/chat/completions')
      expect(request?.authorization).toBe(`Bearer ${target.upstream.key}`)
    },
  },
  {
    claim: 'passes on failures of the model, and answers 502 when there is no model',
    async check(target) {
      const send = await newTenant(target)
      target.upstream.respond = (response) => {
        response.writeHead(503, { 'content-type': 'application/json' })
        response.end('{"error":{"message":"overloaded"}}')
      }
      const overloaded = await send()
      expect(overloaded.status).toBe(503)
      expect(await overloaded.json()).toEqual({ error: { message: 'overloaded' } })
      expect(overloaded.headers.get('x-ratelimit-remaining')).toBe('19')
      target.upstream.respond = (response) => void response.destroy()
      const unreachable = await send()
      expect(unreachable.status).toBe(502)
      expect(await unreachable.json()).toMatchObject({ error: 'upstream_unavailable' })
    },
  },
]
