/** The budget of one policy, from `/api/limits`. */
export interface Budget {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

/** The answer to one request. */
export interface Answer {
  readonly id: string
  readonly route: string
  readonly status: number
  readonly ms: number
  /** The names and values of the rate limit headers. */
  readonly headers: readonly (readonly [string, string])[]
  /** The error code in a refusal's body. */
  readonly error: string | undefined
  /** The text of the model, or the message of the refusal. */
  readonly text: string
}

/** Fetches a token for one of the demo's tenants. */
export async function fetchToken(tenant: string): Promise<string> {
  const answer = await fetch('/api/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tenant }),
  })
  const { token, message } = (await answer.json()) as { token?: string; message?: string }
  if (token === undefined) throw new Error(message ?? 'The demo gives no token.')
  return token
}

export async function fetchBudgets(route: string, token: string): Promise<readonly Budget[]> {
  const answer = await fetch(`/api/limits?route=${route}`, { headers: authorization(token) })
  const { policies = [] } = (await answer.json()) as { policies?: readonly Budget[] }
  return policies
}

/** Sends one request to an AI route and reads the whole answer. Never rejects. */
export async function send(route: string, token: string | undefined): Promise<Answer> {
  const startedAt = performance.now()
  const answer = await exchange(route, token).catch(() => UNREACHABLE)
  const ms = Math.round(performance.now() - startedAt)
  return { id: crypto.randomUUID(), route, ms, ...answer }
}

type Exchange = Pick<Answer, 'status' | 'headers' | 'error' | 'text'>

const UNREACHABLE: Exchange = {
  status: 0,
  headers: [],
  error: 'unreachable',
  text: 'The demo does not answer.',
}

async function exchange(route: string, token: string | undefined): Promise<Exchange> {
  const response = await fetch(`/api/ai/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && authorization(token)) },
    body: JSON.stringify({ input: 'A cache makes reads fast by keeping what was read before.' }),
  })
  const body = await response.text()
  const isStream = response.headers.get('content-type')?.includes('event-stream')
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => /ratelimit|retry/.test(name)),
    ...(isStream ? { error: undefined, text: streamedText(body) } : readJson(body)),
  }
}

const authorization = (token: string): { authorization: string } => ({
  authorization: `Bearer ${token}`,
})

interface Completion {
  readonly error?: string
  readonly message?: string
  readonly choices?: readonly {
    readonly message?: { readonly content?: string }
    readonly delta?: { readonly content?: string }
  }[]
}

function readJson(body: string): Pick<Answer, 'error' | 'text'> {
  try {
    const { error, message, choices } = JSON.parse(body) as Completion
    const text = choices?.[0]?.message?.content ?? message ?? ''
    return { error: typeof error === 'string' ? error : undefined, text }
  } catch {
    return { error: undefined, text: body.slice(0, 200) }
  }
}

/** Joins the text in a stream of OpenAI chunks. */
function streamedText(body: string): string {
  const data = Array.from(body.matchAll(/^data: (\{.*\})$/gm), (match) => match[1] ?? '{}')
  const chunks = data.map((text) => JSON.parse(text) as Completion)
  return chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('')
}
