import { fetchToken } from '../console/api'

/** What became of a call: its status, the tokens it used, or why it was refused. */
export interface Outcome {
  readonly status: number
  readonly code?: string | undefined
  readonly message?: string | undefined
  readonly tokens?: number | undefined
}

export interface AskOptions {
  /** Hears each piece of the answer's text as it comes. */
  readonly onText?: (text: string) => void
  readonly signal?: AbortSignal | undefined
  readonly maxTokens?: number
}

const MODEL = 'gpt-4o'
const TOKEN_FOR_MS = 30 * 60_000
const tokens = new Map<string, { readonly at: number; readonly token: Promise<string> }>()

/** A token for one of the demo's tenants, the same for half an hour. */
export function tokenOf(tenant: string): Promise<string> {
  const known = tokens.get(tenant)
  if (known && performance.now() - known.at < TOKEN_FOR_MS) return known.token
  const token = fetchToken(tenant)
  tokens.set(tenant, { at: performance.now(), token })
  token.catch(() => tokens.delete(tenant))
  return token
}

/** Asks `/api/chat` as a tenant and hears the answer to its end. Rejects when aborted. */
export async function ask(tenant: string, content: string, options: AskOptions): Promise<Outcome> {
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
  let used: number | undefined
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + read.value).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const { choices = [], usage } = chunkIn(event)
      const said = choices[0]?.delta?.content
      if (said) onText?.(said)
      used = usage?.total_tokens ?? used
    }
  }
  return { status, tokens: used }
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
