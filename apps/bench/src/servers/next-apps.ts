import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RestAddress } from './servers.ts'

const SOURCE = fileURLToPath(new URL('../../next', import.meta.url))
/** Inside the workspace, so that packages are found; ignored by git and the tools. */
const BUILT = fileURLToPath(new URL('../../dist/next', import.meta.url))
const NEXT = fileURLToPath(import.meta.resolve('next/dist/bin/next'))

/** A file of `next/proxies`, or no proxy. */
export type Proxy = 'sluice' | 'upstash' | 'empty' | 'none'

/** A Next.js app in production mode, in a process of its own. */
export interface NextApp extends AsyncDisposable {
  readonly url: string
}

/** Builds the app with a proxy, and starts it. */
export async function startNextApp(proxy: Proxy, store: RestAddress): Promise<NextApp> {
  const folder = `${BUILT}/${proxy}`
  rmSync(folder, { recursive: true, force: true })
  cpSync(SOURCE, folder, { recursive: true })
  if (proxy !== 'none') cpSync(`${folder}/proxies/${proxy}.ts`, `${folder}/proxy.ts`)
  rmSync(`${folder}/proxies`, { recursive: true })
  await built(folder)
  const child = next(folder, ['start', '-p', '0', '-H', '127.0.0.1'], {
    UPSTASH_REDIS_REST_URL: store.url,
    UPSTASH_REDIS_REST_TOKEN: store.token,
  })
  const exited = once(child, 'exit')
  return {
    url: await addressOf(child),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function built(folder: string): Promise<void> {
  const child = next(folder, ['build'])
  const output = outputOf(child)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`next build failed:\n${output()}`)
}

async function addressOf(child: ChildProcess): Promise<string> {
  const output = outputOf(child)
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const url = /Local:\s+(http:\/\/[^/\s]+)/.exec(output())?.[1]
      if (url !== undefined && output().includes('Ready in')) resolve(url)
    })
    child.once('exit', () => reject(new Error(`next start ended:\n${output()}`)))
  })
}

function next(cwd: string, args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [NEXT, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', ...env },
  })
}

function outputOf({ stdout, stderr }: ChildProcess): () => string {
  let output = ''
  for (const stream of [stdout, stderr]) {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  }
  return () => output
}
