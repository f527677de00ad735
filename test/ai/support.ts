import { meter, type MeterResponseOptions, type Usage } from '@sluice/ai'
import { expect } from 'vitest'

const encoder = new TextEncoder()
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/** A stream of chunks that are there, and how it was used. */
export interface Source {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>
  /** The number of chunks that were pulled, including the end. */
  readonly pulls: () => number
  readonly cancelled: () => unknown
}

/** `end` may be an error, to break with, or `'open'`, to stay silent. */
export function sourceOf(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  end: 'closed' | 'open' | Error = 'closed',
): Source {
  let pulls = 0
  let cancelled: unknown
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        const chunk = chunks[pulls]
        pulls += 1
        if (chunk !== undefined) controller.enqueue(chunk)
        else if (end instanceof Error) controller.error(end)
        else if (end === 'closed') controller.close()
        // Nothing comes any more, and nobody is told.
        else return new Promise<void>(() => undefined)
        return undefined
      },
      cancel(reason) {
        cancelled = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, pulls: () => pulls, cancelled: () => cancelled }
}

/** Settles into a list, and says when it first has. */
export function ledger(): {
  readonly settle: (usage: Usage) => void
  readonly usages: Usage[]
  readonly settled: Promise<Usage>
} {
  const usages: Usage[] = []
  let resolve: (usage: Usage) => void
  const settled = new Promise<Usage>((done) => (resolve = done))
  return {
    usages,
    settled,
    settle: (usage) => {
      usages.push(usage)
      resolve(usage)
    },
  }
}

/** Reads a metered answer to its end; it must settle once. */
export async function readMetered(
  body: string | object,
  options: Partial<MeterResponseOptions> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly usage: Usage }> {
  const book = ledger()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = new Response(text, { headers })
  const passed = await meter(response, { settle: book.settle, ...options }).bytes()
  expect(passed).toEqual(bytesOf(text))
  expect(book.usages).toHaveLength(1)
  return { usage: await book.settled }
}
