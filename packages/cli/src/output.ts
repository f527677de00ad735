/* Standard output, which the results of the command have to themselves. */
import { Writable } from 'node:stream'

const writeOutput = process.stdout.write.bind(process.stdout)

/** Sends all other output, such as that of a file of limits, to standard error. */
export function reserveOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr)
}

/** Writes a result. Waits for a slow reader: the end of the process would cut off the rest. */
export const writeResult = (text: string): Promise<void> =>
  new Promise((resolve) => writeOutput(text, () => resolve()))

/** Creates a stream of results that waits for a slow reader. A reader that is gone ends the process. */
export const createResultStream = (): Writable =>
  new Writable({ write: (chunk: Buffer, _, done) => void writeOutput(chunk, () => done()) })

/** Returns true if results go to a terminal, in which they can be replaced. */
export const isTerminal = (): boolean => process.stdout.isTTY
