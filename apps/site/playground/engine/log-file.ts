import { refused, type Issue } from './issue.ts'

/** The most that a page can hold and decide without a long wait. */
export const MAX_LOG_BYTES = 10_000_000

/** Reads a file as a log, also if it is zipped. @throws Issue When it is too large, or no text. */
export async function readLogFile(file: Blob): Promise<string> {
  if (file.size > MAX_LOG_BYTES) throw tooLarge('the file')
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const isZipped = first === 0x1f && second === 0x8b
  const bytes = isZipped ? await unzip(file) : await file.arrayBuffer()
  let text: string | undefined
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // Binary, or of another encoding.
  }
  if (text === undefined || text.includes('\0')) {
    throw refused('traffic.log', 'log', 'must be a text in UTF-8, or one zipped as .gz')
  }
  return text
}

async function unzip(file: Blob): Promise<ArrayBuffer> {
  const parts: BlobPart[] = []
  let size = 0
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw refused('traffic.log', 'log', 'must be a whole file: this .gz is broken')
    })
    if (done) return new Blob(parts).arrayBuffer()
    parts.push(value)
    size += value.length
    if (size <= MAX_LOG_BYTES) continue
    void reader.cancel()
    throw tooLarge('the file, unzipped,')
  }
}

const tooLarge = (name: string): Issue =>
  refused(
    'traffic.log',
    'log',
    `must be at most 10 MB: ${name} is larger. Read it by sluice replay`,
  )
