import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { startLocal, startRedisServer } from '@sluice/local'
import { Redis } from '@upstash/redis'
import { afterEach, describe, expect, it } from 'vitest'
import { runHere } from '../cli/run-here.ts'
import { post } from './client.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const CLI = fileURLToPath(new URL('../../packages/cli/bin/sluice.js', import.meta.url))
const started: ChildProcess[] = []

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

interface Run {
  child: ChildProcess
  output: () => string
  errors: () => string
  exited: Promise<number | null>
}

function run(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [CLI, 'local', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  started.push(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { child, output: () => output, errors: () => errors, exited }
}

/** Waits for the two lines to paste and reads them. */
async function credentials({ child, output }: Run): Promise<{ url: string; token: string }> {
  const ended = once(child, 'exit')
  for (;;) {
    const url = /^UPSTASH_REDIS_REST_URL=(\S+)$/m.exec(output())?.[1]
    const token = /^UPSTASH_REDIS_REST_TOKEN=(\S+)$/m.exec(output())?.[1]
    if (url && token && output().endsWith('\n')) return { url, token }
    const next = child.stdout ? once(child.stdout, 'data') : ended
    await Promise.race([next, ended.then(() => Promise.reject(new Error('the command ended')))])
  }
}

describe('sluice local', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'starts a redis-server, prints its settings, and ends both on %s',
    async (signal) => {
      const command = run(['--port', '0'])
      const server = await credentials(command)
      expect(command.output()).toContain('redis-server of its own')
      expect(await new Redis(server).set('a', 1)).toBe('OK')
      const info = await post(server, '/', ['INFO', 'server'])
      const pid = Number(/process_id:(\d+)/.exec(JSON.stringify(info.body))?.[1])
      command.child.kill(signal)
      expect(await command.exited).toBe(0)
      expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    },
  )

  it('answers to the names it is given, and to no other', async () => {
    const names = ['--allow-host', 'one.internal', '--allow-host', 'two.internal']
    const server = await credentials(run(['--engine', 'embedded', '--port', '0', ...names]))
    const port = Number(new URL(server.url).port)
    for (const [host, status] of [
      ['one.internal', 200],
      ['two.internal', 200],
      ['three.internal', 403],
    ] as const) {
      const headers = { host, authorization: `Bearer ${server.token}` }
      const sent = request({ host: '127.0.0.1', port, path: '/ping', headers }).end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      expect(answer.resume().statusCode).toBe(status)
    }
  })

  it('states the purpose of the embedded engine', async () => {
    const command = run(['--engine', 'embedded', '--port', '0', '--token', 'my-token'])
    const server = await credentials(command)
    expect(server.token).toBe('my-token')
    expect(command.output()).toMatch(/Tests that\s+prove correctness need a real Redis/)
    expect((await post(server, '/', ['PING'])).body).toEqual({ result: 'PONG' })
  })

  it('falls back to the embedded engine without a redis-server', async () => {
    const command = run(['--port', '0'], { PATH: '/nowhere' })
    await credentials(command)
    expect(command.output()).toContain('the embedded engine')
    const refused = run(['--port', '0', '--engine', 'redis-server'], { PATH: '/nowhere' })
    expect(await refused.exited).toBe(1)
    expect(refused.errors()).toContain('no redis-server or valkey-server on the PATH')
  })

  it('takes the Redis and the token from the environment, and prints no password', async () => {
    await using redis = await startRedisServer()
    const env = {
      REDIS_URL: redis.url.replace('redis://', 'redis://:hidden-password@'),
      UPSTASH_REDIS_REST_TOKEN: 'from-env',
    }
    const command = run(['--port', '0'], env)
    const server = await credentials(command)
    expect(server.token).toBe('from-env')
    expect((await post(server, '/', ['PING'])).body).toEqual({ result: 'PONG' })
    expect(command.output()).toContain(`the Redis at ${redis.url}`)
    expect(command.output() + command.errors()).not.toContain('hidden-password')
  })

  it('ends with code 1 when the port is in use', async () => {
    await using taken = await startLocal({ engine: 'embedded' })
    const { port } = new URL(taken.url)
    const command = run(['--engine', 'embedded', '--port', port])
    expect(await command.exited).toBe(1)
    expect(command.errors()).toContain(`Port ${port} on 127.0.0.1 is in use`)
  })

  it('warns when other machines can reach it', async () => {
    const command = run(['--engine', 'embedded', '--port', '0', '--host', '0.0.0.0'])
    await credentials(command)
    command.child.kill('SIGTERM')
    expect(await command.exited).toBe(0)
    expect(command.errors()).toContain('can be reached from other machines')
  })

  it('prints its help and refuses unknown options', async () => {
    const help = run(['--help'])
    expect(await help.exited).toBe(0)
    expect(help.output()).toContain('--redis URL')
    const bad: [args: string[], says: string][] = [
      [['--bogus'], "Unknown option '--bogus'"],
      [['--port', 'x'], '--port must be an integer'],
      [['--engine', 'sqlite'], "--engine must be 'auto'"],
      [['--allow-host', ''], '--allow-host must be an array'],
      [['--redis', 'redis://localhost', '--engine', 'embedded'], 'or left out with --redis'],
      [['extra'], 'Unexpected argument'],
      [['--token', ''], '--token must be'],
    ]
    for (const [args, says] of bad) {
      const { err, exitCode } = await runHere(HERE, ['local', ...args])
      expect(exitCode).toBe(1)
      expect(err).toMatch(/^sluice: /)
      expect(err).toContain(says)
    }
  })
})
