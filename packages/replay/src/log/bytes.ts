import { invalidOption } from '@sluice/core/internal'
import type { Readable } from 'node:stream'
import { createReadStream, statSync } from 'node:fs'
import { createGunzip } from 'node:zlib'

const START_LENGTH = 65_536

/** Opens a file, or what its gzip holds. `onProgress` receives the share that was read, from 0 to 1. */
export function openBytes(path: string, onProgress?: (share: number) => void): Readable {
  const { size } = statSync(path)
  const file = createReadStream(path)
  let read = 0
  if (onProgress) {
    file.on('data', (chunk) => {
      read += chunk.length
      onProgress(size === 0 ? 1 : read / size)
    })
  }
  if (!path.endsWith('.gz')) return file
  const unzipped = createGunzip()
  file.on('error', (error) => unzipped.destroy(error))
  return file.pipe(unzipped)
}

/** Returns the beginning of a log. @throws ConfigError When it cannot be read or is empty. */
export async function readStart(path: string): Promise<string> {
  let text = ''
  try {
    for await (const chunk of openBytes(path).setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk
      if (text.length >= START_LENGTH) break
    }
  } catch (error) {
    throw invalidOption('log', `cannot be read: ${(error as Error).message}`)
  }
  if (text.trim() === '') throw invalidOption('log', 'is empty', path)
  return text
}
