const REQUEST_TIMEOUT_MS = 20_000
const SETTLE_TIMEOUT_MS = 10_000
const MODEL = 'gpt-4o'
/** What it costs, in micro-dollars a token: 2.50 and 10 dollars a million. */
const PRICE = { input: 2.5, output: 10 }

/** The price of a usage as OpenAI tells it, in micro-dollars. */
export const priceOf = ({ prompt_tokens: input, completion_tokens: output }) =>
  Math.ceil(input * PRICE.input + output * PRICE.output)

/** One tenant's way to the demo's chat completions. */
export function chatter(url, token, deadline) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (body, signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)) =>
    fetch(`${url}/api/chat`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        model: MODEL,
        stream: true,
        messages: [{ role: 'user', content: 'What is a budget?' }],
        ...body,
      }),
      signal: AbortSignal.any([deadline, signal]),
    })

  /** One call to its end: its status, what it has used, or why it was refused. */
  async function call(body) {
    try {
      const answer = await post(body)
      const text = await answer.text()
      const { status } = answer
      if (status === 200) return { status, usage: usageIn(text) }
      const shouldRetry = answer.headers.get('x-should-retry') !== 'false'
      return { status, shouldRetry, code: JSON.parse(text).error?.code }
    } catch (error) {
      return { status: 0, code: error.name }
    }
  }

  /** Reads so many pieces of an answer, and goes away: what it has read, and what had been reserved. */
  async function leaveAfter(pieces) {
    const leave = new AbortController()
    const answer = await post({}, leave.signal)
    const [, limit] = /"budget\.daily";q=(\d+)/.exec(answer.headers.get('ratelimit-policy'))
    const [, left] = /"budget\.daily";r=(\d+)/.exec(answer.headers.get('ratelimit'))
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (contentIn(text).length < pieces) {
      const { done, value } = await reader.read()
      if (done) break
      text += value
    }
    leave.abort()
    return { words: contentIn(text), reserved: limit - left }
  }

  /** What is used of each limit, by its name. Looking charges nothing. */
  async function used() {
    const answer = await fetch(`${url}/api/limits?route=chat`, { headers, signal: deadline })
    const { policies } = await answer.json()
    return Object.fromEntries(
      policies.map(({ name, limit, remaining }) => [name, { limit, used: limit - remaining }]),
    )
  }

  /** The same, once no call is in flight. A call is settled a moment after its last word. */
  async function settled() {
    const until = performance.now() + SETTLE_TIMEOUT_MS
    let looks = 0
    for (;;) {
      const now = await used()
      looks += 1
      if (now['in-flight'].used === 0 || performance.now() > until) return { ...now, looks }
    }
  }

  return { call, leaveAfter, used, settled }
}

const eventsIn = (text) =>
  Array.from(text.matchAll(/^data: (\{.*\})$/gm), ([, json]) => JSON.parse(json))

const usageIn = (text) => eventsIn(text).findLast(({ usage }) => usage)?.usage

const contentIn = (text) =>
  eventsIn(text)
    .map(({ choices }) => choices[0]?.delta.content)
    .filter(Boolean)
