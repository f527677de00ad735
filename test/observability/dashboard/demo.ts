import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../../scripts/demo/main.mjs', import.meta.url))

/** A running demo, as `npm run demo` starts it, on what was built before. */
export interface Demo extends AsyncDisposable {
  readonly url: string
}

/** Starts the demo with its embedded engine on a free port. */
export async function startDemo(): Promise<Demo> {
  const child = spawn(
    process.execPath,
    [script, '--no-build', '--port', '0', '--engine', 'embedded'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        UPSTASH_REDIS_REST_URL: '',
        UPSTASH_REDIS_REST_TOKEN: '',
        // On a busy machine the default timeout would make the demo count locally, from zero.
        STORE_TIMEOUT_MS: '15000',
        DEMO_MODEL_LATENCY_MS: '100',
      },
    },
  )
  const exited = once(child, 'exit')
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
      if (found !== undefined) resolve(found)
    })
    void exited.then(() => reject(new Error(`The demo has ended:\n${output}`)))
  })
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
