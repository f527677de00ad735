import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { freePort } from '../../e2e/support/ports.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { printedCall } from './printed-call.ts'
import { project, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const BIN = new URL('../../../node_modules/.bin', import.meta.url).pathname

/** The file of variables, and what the printed start lacks: its own port. */
// Astro is not among the packages here: its example has them.
const APPS: readonly (readonly [framework: string, secrets: string, port: string])[] = [
  ['nextjs', '.env', '-p PORT'],
  ['cloudflare', '.dev.vars', '--port PORT'],
  ['durable-objects', '.dev.vars', '--port PORT'],
]

it('installs for a new app of Next.js the types that its TypeScript needs', async () => {
  const { out } = await project({}).terminal(['init', '--framework', 'nextjs', '--yes'])
  expect(out).toMatch(/npm install next react react-dom @sluice\/core/)
  expect(out).toMatch(/npm install --save-dev typescript @types\/node @types\/react @sluice\/cli/)
})

it.each(APPS)(
  'sluice init leads from an empty folder to a 429: %s',
  async (framework, secrets, option) => {
    const app = project({})
    const made = await app.terminal(['init', '--framework', framework, '--yes'])
    const [install = '', ...others] = (made.out.split('Next:\n')[1] ?? '')
      .split('\n')
      .map((line) => line.trim().replace(/ +#.*/, ''))
    const [start = '', call = ''] = others.slice(-2)
    expect(install).toContain('npm install ')
    // The files that npm install leaves in an empty folder.
    writeFileSync(join(app.folder, 'package.json'), '{}')
    const file = join(app.folder, secrets)
    const { url, token } = redis.local
    writeFileSync(
      file,
      readFileSync(file, 'utf8')
        .replace(/^UPSTASH_REDIS_REST_URL=.*$/m, `UPSTASH_REDIS_REST_URL=${url}`)
        .replace(/^UPSTASH_REDIS_REST_TOKEN=.*$/m, `UPSTASH_REDIS_REST_TOKEN=${token}`),
    )
    const port = String(await freePort())
    const command = `${start} ${option.replace('PORT', port)}`
    const server = spawn('bash', ['-c', `exec ${command.replace(/^npx /, '')}`], {
      cwd: app.folder,
      env: { ...process.env, PATH: `${BIN}:${process.env['PATH']}`, NODE_ENV: 'development' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk) => (output += String(chunk)))
    }
    try {
      const jwt = await app.terminal(['token', '--tenant', `init-${crypto.randomUUID()}`])
      const printed = printedCall(made.out)
      const [, path = ''] = /http:\/\/localhost:\d+(\S+)$/.exec(call) ?? []
      expect(path).toBe('/api/ai/chat')
      const ask = async (): Promise<number> =>
        (
          await fetch(`http://localhost:${port}${path}`, {
            ...printed,
            headers: { ...printed.headers, authorization: `Bearer ${jwt.out}` },
          })
        ).status
      await expect
        .poll(() => ask().catch(() => output.slice(-900)), { timeout: 60_000, interval: 500 })
        .toBe(200)
      const statuses: number[] = []
      for (let count = 0; count < 21; count += 1) statuses.push(await ask())
      expect(statuses).toEqual([...Array<number>(19).fill(200), 429, 429])
    } finally {
      // With what it has started.
      if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGTERM')
    }
  },
  120_000,
)
