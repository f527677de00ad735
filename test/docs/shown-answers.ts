import { expect } from 'vitest'

/** An answer as a page shows it: the lines of its head, and its body. */
export type ShownAnswer = readonly [head: string, body: string]

/** The answers that a page shows, in its order. */
export function answersOn(page: string): ShownAnswer[] {
  const blocks = page.matchAll(/```http\n([^]*?)\n\n([^]*?)```/g)
  return Array.from(blocks, ([, head = '', body = '']) => [head, body.trim()] as const)
}

/** Compares an answer with what a page shows of it. Times differ from run to run. */
export async function expectShown(
  answer: Response,
  [head, body]: ShownAnswer = ['', ''],
): Promise<void> {
  const [status = '', ...lines] = head.split('\n')
  expect(answer.status).toBe(Number(status.split(' ')[1]))
  for (const line of lines) {
    const [, name = '', value = ''] = /^([\w-]+): (.*)$/.exec(line) ?? []
    const real = answer.headers.get(name) ?? ''
    expect(timeless(`${name}: ${real}`)).toBe(timeless(`${name}: ${value}`))
  }
  // An event ends with empty lines, which a page leaves out.
  expect(timeless((await answer.text()).trim())).toBe(timeless(body))
}

/** Replaces seconds and times. */
const timeless = (text: string): string =>
  text.replaceAll(
    /t=\d+|(?<=Retry in |"(?:retryAfter|resetAt)":|retry-after(?:-ms)?: |x-ratelimit-reset(?:: |":"))\d+/gi,
    'TIME',
  )
