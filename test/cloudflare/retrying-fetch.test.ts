import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { addressOf } from '../e2e/support/ports.ts'
import { startWorker } from './support.ts'

it('a Worker waits out the refusal of another server, and sends the body again', async () => {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const status = bodies.push(body) === 1 ? 429 : 200
      response.writeHead(status, { 'retry-after-ms': '5' }).end(`answer ${bodies.length}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const TARGET = `http://127.0.0.1:${addressOf(server).port}/`
  await using worker = await startWorker('retrying', { TARGET })
  const answer = await fetch(worker.url, { method: 'POST', body: 'question' })
  expect([answer.status, await answer.text()]).toEqual([200, 'answer 2'])
  expect(bodies).toEqual(['question', 'question'])
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})
