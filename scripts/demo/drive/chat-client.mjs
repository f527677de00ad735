const REQUEST_TIMEOUT_MS = 20_000
const SETTLE_TIMEOUT_MS = 10_000
const MODEL = 'gpt-4o'
/** The price of the model in micro-dollars a token: 2.50 and 10 dollars a million. */
const PRICE = { input: 2.5, output: 10 }

/** Returns the price of OpenAI's `usage` in micro-dollars. */
export const priceOf = ({ prompt_tokens: input, completion_tokens: output }) =>
  Math.ceil(input * PRICE.input + output * PRICE.output)

/** Creates a client of the demo's chat completions for one tenant. */
export function chatClient(url, token, deadline) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (body, signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)) =>
    fetch(`${url}/api/chat`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        model: MODEL,
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'What is a budget?' }],
        ...body,
      }),
      signal: AbortSignal.any([deadline, signal]),
    })

  /** Makes one call to its end. Resolves to the status and the usage, or the code of a refusal. */
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

  /** Reads a number of words and aborts. Resolves to the words and the cost that was reserved. */
  async function leaveAfter(wordCount) {
    const abort = new AbortController()
    const answer = await post({}, abort.signal)
    const words = await readWords(answer, wordCount)
    abort.abort()
    return { words, reserved: reservedIn(answer.headers) }
  }

  /** Reads the used units of each limit, by its name. Charges nothing. */
  async function used() {
    const answer = await fetch(`${url}/api/limits?route=chat`, { headers, signal: deadline })
    const { policies } = await answer.json()
    return Object.fromEntries(
      policies.map(({ name, limit, remaining }) => [name, { limit, used: limit - remaining }]),
    )
  }

  /** Waits until all calls are settled, which is shortly after the last word, and returns `used`. */
  async function settled() {
    const until = performance.now() + SETTLE_TIMEOUT_MS
    let peeks = 0
    for (;;) {
      const usage = await used()
      peeks += 1
      if (usage['in-flight'].used === 0 || performance.now() > until) return { ...usage, peeks }
    }
  }

  return { call, leaveAfter, used, settled }
}

async function readWords(answer, count) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (wordsIn(text).length < count) {
    const { done, value } = await reader.read()
    if (done) break
    text += value
  }
  return wordsIn(text)
}

/** Reads the used part of the daily budget, which is the reservation of a tenant's first call. */
function reservedIn(headers) {
  const [, limit] = /"budget\.daily";q=(\d+)/.exec(headers.get('ratelimit-policy'))
  const [, remaining] = /"budget\.daily";r=(\d+)/.exec(headers.get('ratelimit'))
  return limit - remaining
}

const eventsIn = (text) =>
  Array.from(text.matchAll(/^data: (\{.*\})$/gm), ([, json]) => JSON.parse(json))

const usageIn = (text) => eventsIn(text).findLast(({ usage }) => usage)?.usage

const wordsIn = (text) =>
  eventsIn(text)
    .map(({ choices }) => choices[0]?.delta.content)
    .filter(Boolean)
