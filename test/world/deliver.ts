import type { Answer } from './faults.ts'

interface Settler {
  readonly resolve: (response: Response) => void
  readonly reject: (error: Error) => void
}

/** Delivers an answer, or what comes instead of it. */
export function deliver(
  answer: Answer,
  text: string,
  status: number,
  { resolve, reject }: Settler,
): void {
  const respond = (body: string, code: number): void =>
    resolve({ ok: code < 300, status: code, text: async () => body } as unknown as Response)
  switch (answer) {
    case 'reply':
      return respond(text, status)
    case 'cut':
      return respond(text.slice(0, Math.floor(text.length / 2)), status)
    case 'page':
      return respond('<html>Just a moment</html>', 200)
    case 'busy':
      return respond('{"error":"ERR max requests limit exceeded"}', 429)
    case 'failing':
      return respond('<html>Bad gateway</html>', 502)
    case 'broken':
      return reject(new Error('connection reset'))
    case 'nothing':
      return undefined
  }
}
