import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

/** The files of a project that hold its secrets during development, in the order of precedence. */
const ENV_FILES = ['.env.local', '.dev.vars', '.env'] as const

/**
 * Finds a variable in the first of these files of `folder` that has it. The environment is not read, so
 * that the secret of a deployment is never used by mistake.
 *
 * @throws Error When no file has it.
 */
export function findVariable(name: string, folder: string): { value: string; file: string } {
  const found: string[] = []
  for (const file of ENV_FILES) {
    const text = readIfPresent(join(folder, file))
    if (text === undefined) continue
    found.push(file)
    const value = parseEnv(text)[name]
    if (value) return { value, file }
  }
  const state = found.length === 0 ? 'none of them exists' : `it is not set in ${found.join(', ')}`
  throw new Error(
    `found no ${name}. Looked in ${ENV_FILES.join(', ')} of ${folder}: ${state}. ` +
      `Make one: echo "${name}=$(openssl rand -hex 32)" >> .env.local`,
  )
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
