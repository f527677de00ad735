import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { App, Settings } from './target.ts'

const cwd = fileURLToPath(new URL('../../../apps/demo', import.meta.url))
const next = fileURLToPath(import.meta.resolve('next/dist/bin/next'))

/** `next start` with the demo as it was built. */
export async function startNext(settings: Settings): Promise<App> {
  const child = spawn(process.execPath, [next, 'start', '-p', '0', '-H', '127.0.0.1'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      UPSTASH_REDIS_REST_URL: settings.storeUrl,
      UPSTASH_REDIS_REST_TOKEN: settings.storeToken,
      OPENAI_BASE_URL: settings.upstreamUrl,
      OPENAI_API_KEY: settings.upstreamKey,
      DEMO_JWT_SECRET: settings.secret,
    },
  })
  const exited = once(child, 'exit')
  let output = ''
  const ready = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const url = /Local:\s+(http:\S+)/.exec(output)?.[1]
      if (url !== undefined && output.includes('Ready in')) resolve(url)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exited.then(() => reject(new Error(`next start ended before it was ready:\n${output}`)))
  })
  const url = await ready
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
