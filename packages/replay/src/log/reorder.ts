import { invalidOption } from '@sluice/core/internal'
import type { Call } from '../call.ts'

/**
 * Puts calls in the order of their times. It holds twice this many, so a log of no more is sorted whatever its order.
 *
 * @throws ConfigError When a call is earlier than those before the ones held.
 */
export async function* reorder(calls: AsyncIterable<Call>, most: number): AsyncGenerator<Call> {
  let held: Call[] = []
  let last = -Infinity
  for await (const call of calls) {
    if (call.at < last) throw tooLate(call, most)
    held.push(call)
    if (held.length < 2 * most) continue
    const sorted = held.toSorted(byTime)
    last = sorted[most - 1]?.at ?? last
    yield* sorted.slice(0, most)
    held = sorted.slice(most)
  }
  yield* held.toSorted(byTime)
}

const byTime = (a: Call, b: Call): number => a.at - b.at

function tooLate({ line }: Call, most: number): Error {
  const [at, far] = [line, most].map((value) => value.toLocaleString('en-US'))
  return invalidOption(
    'reorderCalls',
    `must be more than ${far}, or the log sorted by time: line ${at} is earlier than a call more than ${far} calls before it`,
  )
}
