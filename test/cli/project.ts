/* A project in which the command runs, as a user's terminal does. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownEnv, runHere, type Ran } from './run-here.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
/** The command `sluice`, as npm links it. */
export const COMMAND: string = fileURLToPath(
  new URL('../../packages/cli/bin/sluice.js', import.meta.url),
)

/** The versions of Node.js on this machine: that of the tests, and the one that runs npm. */
export const NODES: readonly string[] = [
  ...new Set([process.execPath, process.env['npm_node_execpath'] ?? process.execPath]),
]

export interface Project {
  readonly folder: string
  write(path: string, text: string): void
  /** Runs the command in this process, which takes a tenth of the time. */
  sluice(args: readonly string[]): Promise<Ran>
  /** Runs the command as a terminal does, in a process of its own. */
  terminal(args: readonly string[], node?: string): Promise<Ran>
}

const folders: string[] = []

/** Removes the projects of a test file: call it in `afterAll`. */
export function removeProjects(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

/** Creates a project of these files, by path. */
export function project(files: Readonly<Record<string, string>>): Project {
  // Inside the repository, where packages are found.
  const folder = mkdtempSync(join(HERE, 'project-'))
  folders.push(folder)
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const [path, text] of Object.entries(files)) write(path, text)
  return {
    folder,
    write,
    sluice: (args) => runHere(folder, args),
    terminal: (args, node = process.execPath) => runIn(folder, node, [COMMAND, ...args]),
  }
}

/** Runs a program in a folder. */
export function runIn(
  cwd: string,
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const env = { ...ownEnv(cwd), ...variables }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += String(chunk)))
  child.stderr.on('data', (chunk) => (err += String(chunk)))
  return new Promise((resolve) => {
    child.on('close', (exitCode) => resolve({ out: out.trimEnd(), err: err.trimEnd(), exitCode }))
  })
}

/** The variables of a database. */
export const envOf = ({ url, token }: { url: string; token: string }): string =>
  `UPSTASH_REDIS_REST_URL=${url}\nUPSTASH_REDIS_REST_TOKEN=${token}\n`
