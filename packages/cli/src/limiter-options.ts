import { textOf, type Values } from './command.ts'
import { loadEnvFiles } from './env-files.ts'
import { loadLimiter, type LoadedLimiter } from './load-limiter.ts'

export const LIMITER_USAGE = `  --limits FILE         exports your limiter (default: limits.ts, also in src, lib, app and server)
  --limiter NAME        the export, if it is not "limiter" or the only one
  --env FILE            the variables that the environment lacks (default: .env.local, .dev.vars, .env)
`

/** Loads the limiter that a command line names, with the variables of the project. */
export function limiterFor(values: Values, folder: string): Promise<LoadedLimiter> {
  loadEnvFiles(folder, textOf(values, 'env'))
  return loadLimiter(folder, textOf(values, 'limits'), textOf(values, 'limiter'))
}
