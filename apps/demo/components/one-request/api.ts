/** The answer to one request. */
export interface Answer {
  readonly id: string
  readonly route: string
  readonly status: number
  readonly ms: number
  /** The names and values of the rate limit headers. */
  readonly headers: readonly (readonly [string, string])[]
  /** The code in a refusal's body. */
  readonly error: string | undefined
  /** The text of the model, or the message of the refusal. */
  readonly text: string
}

const TOKEN_LIFETIME_MS = 30 * 60_000
const tokens = new Map<string, { readonly at: number; readonly token: Promise<string> }>()

/** Returns a token for one of the demo's tenants, and keeps it for half an hour. */
export function tokenOf(tenant: string): Promise<string> {
  const cached = tokens.get(tenant)
  if (cached && performance.now() - cached.at < TOKEN_LIFETIME_MS) return cached.token
  const token = fetchToken(tenant)
  tokens.set(tenant, { at: performance.now(), token })
  token.catch(() => tokens.delete(tenant))
  return token
}

async function fetchToken(tenant: string): Promise<string> {
  const answer = await fetch('/api/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tenant }),
  })
  const { token, message } = (await answer.json()) as { token?: string; message?: string }
  if (token === undefined) throw new Error(message ?? 'The demo gives no token.')
  return token
}

/** Returns the path of a route by its name. */
export const pathOf = (route: string): string =>
  route === 'chat' ? '/api/chat' : `/api/ai/${route}`

const bodyFor = (route: string): object =>
  route === 'chat'
    ? {
        model: 'gpt-6.2-sol',
        messages: [{ role: 'user', content: 'What is a budget?' }],
        stream: true,
      }
    : { input: 'A cache makes reads fast by keeping what was read before.' }

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
  const response = await fetch(pathOf(route), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(bodyFor(route)),
  })
  const body = await response.text()
  const isStream = response.headers.get('content-type')?.includes('event-stream')
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => /ratelimit|retry/.test(name)),
    ...(isStream ? { error: undefined, text: streamedText(body) } : readJson(body)),
  }
}

interface Completion {
  readonly error?: string | { readonly code?: string; readonly message?: string }
  readonly message?: string
  readonly choices?: readonly {
    readonly message?: { readonly content?: string }
    readonly delta?: { readonly content?: string }
  }[]
}

function readJson(body: string): Pick<Answer, 'error' | 'text'> {
  try {
    const { error, message, choices } = JSON.parse(body) as Completion
    const { code, message: reason } = typeof error === 'object' ? error : { code: error, message }
    return { error: code, text: choices?.[0]?.message?.content ?? reason ?? '' }
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
