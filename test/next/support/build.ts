import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const fixture = fileURLToPath(new URL('../fixture', import.meta.url))
/** Inside the workspace, so that the packages are found; ignored by git and the tools. */
const built = fileURLToPath(new URL('../dist', import.meta.url))
const next = fileURLToPath(import.meta.resolve('next/dist/bin/next'))

/** The differences of an app from the fixture. */
export interface Variant {
  readonly name: string
  /** `proxy.ts`, on Node, in place of `middleware.ts`, on the edge runtime. */
  readonly proxy?: true
  /** Lines for `next.config.ts`. */
  readonly config?: string
  /** Changes the app's files before it is built. */
  readonly prepare?: (folder: string) => void
}

/** An app as `next build` left it. */
export interface BuiltApp {
  readonly folder: string
  readonly buildId: string
}

/** Makes the variant's app out of the fixture, and builds it. */
export async function build({ name, proxy, config, prepare }: Variant): Promise<BuiltApp> {
  const folder = `${built}/${name}`
  rmSync(folder, { recursive: true, force: true })
  cpSync(fixture, folder, { recursive: true })
  if (proxy) {
    renameSync(`${folder}/middleware.ts`, `${folder}/proxy.ts`)
    edit(`${folder}/proxy.ts`, 'function middleware(', 'function proxy(')
  }
  if (config !== undefined) edit(`${folder}/next.config.ts`, 'NextConfig = {', `$&\n${config}`)
  prepare?.(folder)
  await nextBuild(folder)
  return { folder, buildId: readFileSync(`${folder}/.next/BUILD_ID`, 'utf8').trim() }
}

/** Starts a built app with some environment. `bin` is its own Next.js, if it has one. */
export async function start(
  { folder }: Pick<BuiltApp, 'folder'>,
  env: NodeJS.ProcessEnv,
  bin: string = next,
): Promise<RunningApp> {
  const child = spawn(process.execPath, [bin, 'start', '-p', '0', '-H', '127.0.0.1'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment(), ...env },
  })
  const exited = once(child, 'exit')
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const found = /Local:\s+(http:\/\/[^/\s]+)/.exec(output)?.[1]
      if (found !== undefined && output.includes('Ready in')) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exited.then(() => reject(new Error(`next start ended before it was ready:\n${output}`)))
  })
  return {
    url,
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** `next start`, listening. */
export interface RunningApp {
  /** The origin on which it listens. */
  readonly url: string
  /** Everything printed so far. */
  output(): string
  stop(): Promise<void>
  /** Ends it at once, with what it has not sent. */
  kill(): Promise<void>
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
}

/** Runs `next build` in a folder. */
export async function nextBuild(cwd: string, bin: string = next): Promise<void> {
  const child = spawn(process.execPath, [bin, 'build'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(),
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`next build failed:\n${output}`)
}

/** Replaces the first `find` of a file, which must have one. */
export function edit(path: string, find: string, replacement: string): void {
  const text = readFileSync(path, 'utf8')
  if (!text.includes(find)) throw new Error(`${path} has no "${find}"`)
  writeFileSync(path, text.replace(find, replacement))
}
