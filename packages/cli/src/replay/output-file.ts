import { closeSync, openSync, writeSync } from 'node:fs'
import { refuse } from '../errors.ts'

export interface OutputFile {
  write(text: string): void
  close(): void
}

/** The characters to collect before they are written. */
const CHUNK = 65_536

/**
 * Opens a file to write, before any work is done for it.
 *
 * @param option The option that names the file, for errors.
 * @throws CommandError When the file cannot be written.
 */
export function openOutput(option: string, path: string): OutputFile {
  let file: number
  try {
    file = openSync(path, 'w')
  } catch (error) {
    refuse(`${option} cannot be written: ${(error as Error).message}`)
  }
  let pending = ''
  const flush = (): void => {
    writeSync(file, pending)
    pending = ''
  }
  return {
    write(text) {
      pending += text
      if (pending.length >= CHUNK) flush()
    },
    close() {
      flush()
      closeSync(file)
    },
  }
}
