import { once } from 'node:events'
import { createServer } from 'node:http'

const USAGE = { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 }
const choice = (delta, finish_reason = null) => ({ index: 0, delta, finish_reason })
const CHUNKS = [
  { choices: [choice({ role: 'assistant', content: '42' })] },
  { choices: [choice({}, 'stop')] },
  { choices: [], usage: USAGE },
]

/** Starts a stand-in for OpenAI's chat completions, which streams the same short answer to every request. */
export async function startModel() {
  const events = CHUNKS.map((chunk) => {
    const data = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, ...chunk }
    return `data: ${JSON.stringify({ ...data, model: 'gpt-6.2-sol' })}\n\n`
  })
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${events.join('')}data: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return { url: `http://127.0.0.1:${port}/v1`, close: () => server.close() }
}
