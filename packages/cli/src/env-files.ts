import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { refuse } from './errors.ts'
import { limiterOption } from './wording.ts'

/** The files that hold a project's secrets during development, in the order of precedence. */
const ENV_FILES = ['.env.local', '.dev.vars', '.env']

/**
 * Sets the variables of a project's files that the environment does not have.
 *
 * @param file The only file to read, instead of those that are usual.
 * @throws CommandError When that file does not exist.
 */
export function loadEnvFiles(folder: string, file: string | undefined): void {
  for (const name of file === undefined ? ENV_FILES : [file]) {
    const variables = variablesIn(folder, name, file !== undefined) ?? {}
    for (const [variable, value] of Object.entries(variables)) process.env[variable] ??= value
  }
}

/** Reads the variables of one file. Returns `undefined` if the file does not exist. */
export const readVariables = (folder: string, file: string): Variables | undefined =>
  variablesIn(folder, file, false)

type Variables = Readonly<Record<string, string | undefined>>

function variablesIn(folder: string, file: string, isRequired: boolean): Variables | undefined {
  try {
    return parseEnv(readFileSync(resolve(folder, file), 'utf8'))
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing && !isRequired) return undefined
    if (isMissing) refuse(`there is no file ${file}. Name another: ${limiterOption('--env FILE')}`)
    return refuse(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Finds a variable in the first of a project's files that has it. The environment is not read.
 *
 * @throws CommandError When no file has it.
 */
export function variableOf(name: string, folder: string): { value: string; file: string } {
  const found: string[] = []
  for (const file of ENV_FILES) {
    const variables = readVariables(folder, file)
    if (!variables) continue
    found.push(file)
    const value = variables[name]
    if (value) return { value, file }
  }
  const state = found.length === 0 ? 'none of them exists' : `it is not set in ${found.join(', ')}`
  return refuse(
    `found no ${name}. Looked in ${ENV_FILES.join(', ')} of ${folder}: ${state}. Make one: echo "${name}=$(openssl rand -hex 32)" >> .env.local`,
  )
}
