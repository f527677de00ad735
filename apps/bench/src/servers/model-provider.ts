// The process of a stand-in for OpenAI's chat completions. It ends with the process that started it.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

const WORDS = 40
const USAGE = { prompt_tokens: 500, completion_tokens: WORDS, total_tokens: 500 + WORDS }
const HEAD = { id: 'chatcmpl-1', created: 1_780_000_000, model: 'gpt-6-luna' }

let calls = 0

const server = createServer((request, response) => {
  calls += 1
  void text(request).then((body) => answer(response, JSON.parse(body) as Asked))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
process.once('disconnect', () => process.exit(0))
// Every message asks for the calls so far.
process.on('message', () => void process.send?.(calls))

interface Asked {
  readonly stream?: boolean
  readonly stream_options?: object
}

async function answer(response: ServerResponse, asked: Asked): Promise<void> {
  if (asked.stream !== true) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(completion()))
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  for (let word = 0; word < WORDS; word += 1) {
    response.write(event([{ index: 0, delta: { content: ' word' }, finish_reason: null }]))
    // A chunk for each event, as a model sends them.
    await new Promise((resolve) => setImmediate(resolve))
  }
  response.write(event([{ index: 0, delta: {}, finish_reason: 'stop' }]))
  // Told only if it is asked for, as by OpenAI.
  if (asked.stream_options) response.write(event([], { usage: USAGE }))
  response.end('data: [DONE]\n\n')
}

const completion = () => {
  const message = { role: 'assistant', content: ' word'.repeat(WORDS), refusal: null }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return { ...HEAD, object: 'chat.completion', choices, usage: USAGE }
}

const event = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...more })}\n\n`
