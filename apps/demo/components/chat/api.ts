import { fetchToken } from '../console/api'

/** The result of a call: its status, and its tokens or the reason of the refusal. */
export interface Outcome {
  readonly status: number
  readonly code?: string | undefined
  readonly message?: string | undefined
  readonly tokens?: number | undefined
}

interface ChatOptions {
  /** Receives each piece of the answer as it arrives. */
  readonly onText?: (text: string) => void
  readonly signal?: AbortSignal | undefined
  readonly maxTokens?: number
}

const MODEL = 'gpt-4o'
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

/** Sends a message to `/api/chat` as a tenant and reads the whole answer. Rejects when aborted. */
export async function chat(
  tenant: string,
  content: string,
  options: ChatOptions,
): Promise<Outcome> {
  const { onText, signal, maxTokens } = options
  const response = await fetch('/api/chat', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenOf(tenant)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: 'user', content }],
      stream: true,
      ...(maxTokens && { max_tokens: maxTokens }),
    }),
    signal: signal ?? null,
  })
  const { status, body } = response
  if (!response.ok || body === null) return { status, ...(await refusalIn(response)) }
  let totalTokens: number | undefined
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + read.value).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const { choices = [], usage } = chunkIn(event)
      const text = choices[0]?.delta?.content
      if (text) onText?.(text)
      totalTokens = usage?.total_tokens ?? totalTokens
    }
  }
  return { status, tokens: totalTokens }
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[]
  readonly usage?: { readonly total_tokens: number } | null
}

function chunkIn(event: string): Chunk {
  const json = /^data: (\{.*\})$/.exec(event)?.[1]
  return json === undefined ? {} : (JSON.parse(json) as Chunk)
}

async function refusalIn(response: Response): Promise<Pick<Outcome, 'code' | 'message'>> {
  const body = (await response.json().catch(() => null)) as {
    error?: { code?: string; message?: string }
  } | null
  return { code: body?.error?.code, message: body?.error?.message }
}
