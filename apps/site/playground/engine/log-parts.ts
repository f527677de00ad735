/** Lines of a CSV, below its line of columns. */
interface LogPart {
  readonly text: string
  /** The lines of the log that are left out before it, to be added to a line of it. */
  readonly linesBefore: number
}

const LINES = 2_000

/** Divides CSV into parts that are read one by one, so that a page can draw between them. Lines in quotes stay together. */
export function* partsOf(text: string): Generator<LogPart> {
  const first = text.search(/\S/)
  const blank = first < 0 ? 0 : text.slice(0, first).split('\n').length - 1
  const lines = linesOf(text.slice(Math.max(0, first)))
  const [head] = lines.next().value ?? []
  if (head === undefined) return
  let before = blank
  let part = [head]
  let count = 0
  for (const [line, length] of lines) {
    part.push(line)
    count += length
    if (count < LINES) continue
    yield { text: part.join(''), linesBefore: before }
    before += count
    part = [head]
    count = 0
  }
  if (part.length > 1 || before === blank) yield { text: part.join(''), linesBefore: before }
}

/** Splits a text into lines with their ends, and says of how many lines of the text each is made. */
function* linesOf(text: string): Generator<readonly [line: string, length: number], undefined> {
  let from = 0
  let length = 0
  let isQuoted = false
  let quote = text.indexOf('"')
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at) + 1 || text.length
    for (; quote >= 0 && quote < end; quote = text.indexOf('"', quote + 1)) isQuoted = !isQuoted
    length += 1
    at = end
    if (isQuoted && end < text.length) continue
    yield [text.slice(from, end), length]
    from = end
    length = 0
  }
  return undefined
}
