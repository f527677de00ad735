import type { LocalServer } from '@sluice/local'

/** The answer of the server, with its body parsed. */
export interface Answer {
  status: number
  body: unknown
  headers: Headers
}

/** Posts to a local server as a bare HTTP client would. */
export async function post(
  server: Pick<LocalServer, 'url' | 'token'>,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(server, path, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** Sends any request, without credentials unless they are in `init`. */
export async function send(
  server: Pick<LocalServer, 'url'>,
  path: string,
  init: RequestInit = {},
): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, init)
  const text = await response.text()
  const body: unknown = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, body, headers: response.headers }
}

/** Asks again until the answer is as wanted, for at most five seconds. */
export async function until<T>(ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 5_000
  for (;;) {
    const value = await ask()
    if (wanted(value) || Date.now() > deadline) return value
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
