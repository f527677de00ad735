export type { Result } from './command.ts'
export { CommandError } from './errors.ts'
export { runCommand } from './run-command.ts'
