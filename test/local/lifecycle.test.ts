import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { LocalError, startLocal, startRedisServer } from '@sluice/local'
import type { LocalOptions } from '@sluice/local'
import { describe, expect, it } from 'vitest'
import { post, send, until } from './client.ts'

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const coded = (code: string): unknown => expect.objectContaining({ name: 'LocalError', code })

describe('startRedisServer', () => {
  it('starts an empty Redis on a free port and ends it', async () => {
    const redis = await startRedisServer()
    const second = await startRedisServer()
    expect(second.port).not.toBe(redis.port)
    expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}`)
    expect(isRunning(redis.pid)).toBe(true)
    await redis.stop()
    await redis.stop()
    await second.stop()
    expect(isRunning(redis.pid)).toBe(false)
  })

  it('ends with its parent, even one that is killed', async () => {
    const source =
      "import { startRedisServer } from '@sluice/local'\n" +
      'console.log((await startRedisServer()).url)'
    const args = ['--input-type=module', '-e', source]
    const parent = spawn(process.execPath, args, { cwd: import.meta.dirname })
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
    const redisUrl = chunk.toString().trim()
    const answers = async (): Promise<boolean> =>
      startLocal({ redisUrl }).then(
        async (server) => {
          await server.close()
          return true
        },
        () => false,
      )
    expect(await answers()).toBe(true)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    expect(await until(answers, (isThere) => !isThere)).toBe(false)
  })

  it('rejects options that are not allowed', async () => {
    const code = coded('ERR_LOCAL_OPTION')
    await expect(startRedisServer({ port: -1 })).rejects.toEqual(code)
    await expect(startRedisServer({ host: 'x' } as object)).rejects.toEqual(code)
  })

  it('rejects with a code when its port is taken', async () => {
    await using redis = await startRedisServer()
    await expect(startRedisServer({ port: redis.port })).rejects.toEqual(
      coded('ERR_LOCAL_REDIS_START'),
    )
    expect(isRunning(redis.pid)).toBe(true)
  })
})

describe('startLocal', () => {
  it('starts a redis-server of its own, which is gone after close', async () => {
    const server = await startLocal()
    expect(server.engine).toBe('redis-server')
    expect(server.redisUrl).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/)
    const info = await post(server, '/', ['INFO', 'server'])
    const pid = Number(/process_id:(\d+)/.exec(JSON.stringify(info.body))?.[1])
    expect(isRunning(pid)).toBe(true)
    await server.close()
    await server.close()
    expect(isRunning(pid)).toBe(false)
    await expect(send(server, '/')).rejects.toThrow('fetch failed')
  })

  it('uses the Redis it is given and leaves it running', async () => {
    await using redis = await startRedisServer()
    const first = await startLocal({ redisUrl: redis.url })
    const second = await startLocal({ redisUrl: redis.url })
    expect(first).toMatchObject({ engine: 'redis', redisUrl: redis.url })
    await post(first, '/', ['SET', 'shared', '1'])
    await first.close()
    expect((await post(second, '/', ['GET', 'shared'])).body).toEqual({ result: '1' })
    await second.close()
    expect(isRunning(redis.pid)).toBe(true)
  })

  it('runs the embedded engine, empty each time', async () => {
    const first = await startLocal({ engine: 'embedded' })
    expect(first).toMatchObject({ engine: 'embedded', redisUrl: undefined })
    await post(first, '/', ['SET', 'a', '1'])
    const second = await startLocal({ engine: 'embedded' })
    expect((await post(second, '/', ['GET', 'a'])).body).toEqual({ result: null })
    await first.close()
    await second.close()
  })

  it('makes a new token each time', async () => {
    await using first = await startLocal({ engine: 'embedded' })
    await using second = await startLocal({ engine: 'embedded' })
    expect(first.token).toMatch(/^[\w-]{32}$/)
    expect(second.token).not.toBe(first.token)
  })

  it('rejects with a code when its port is taken, and ends what it started', async () => {
    await using taken = await startLocal({ engine: 'embedded' })
    const port = Number(new URL(taken.url).port)
    await expect(startLocal({ port })).rejects.toEqual(coded('ERR_LOCAL_PORT_IN_USE'))
  })

  it('rejects with a code when the Redis cannot be reached, without its password', async () => {
    const redis = await startRedisServer()
    await redis.stop()
    const redisUrl = `redis://user:secret-password@127.0.0.1:${redis.port}`
    const failure: unknown = await startLocal({ redisUrl }).catch((error: unknown) => error)
    expect(failure).toEqual(coded('ERR_LOCAL_REDIS_UNREACHABLE'))
    expect(String(failure)).not.toContain('secret-password')
  })

  it.each<[string, string, unknown]>([
    ['an unknown option', 'tokn', 'x'],
    ['a port out of range', 'port', 65_536],
    ['a port that is no number', 'port', '80'],
    ['an unknown engine', 'engine', 'sqlite'],
    ['a URL of another kind', 'redisUrl', 'http://localhost'],
    ['a malformed URL', 'redisUrl', 'redis://:::'],
    ['an empty token', 'token', ''],
    ['a token with a line break', 'token', 'secret\nvalue'],
    ['a flag that is no boolean', 'scriptFlag', 'yes'],
    ['an empty host', 'host', ''],
    ['an allowed host with a port', 'allowedHosts', ['redis.internal:80/']],
    ['allowed hosts that are no array', 'allowedHosts', 'redis.internal'],
  ])('rejects %s with an error that names the option', async (_, name, value) => {
    const options = { [name]: value } as LocalOptions
    const failure: unknown = await startLocal(options).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(LocalError)
    expect(failure).toEqual(coded('ERR_LOCAL_OPTION'))
    expect(String(failure)).toContain(`"${name}"`)
    expect(String(failure)).not.toContain('secret')
  })

  it('rejects an engine next to a Redis URL', async () => {
    const options = { engine: 'embedded', redisUrl: 'redis://127.0.0.1:6379' } as const
    await expect(startLocal(options)).rejects.toEqual(coded('ERR_LOCAL_OPTION'))
  })
})

describe('a Redis that goes away', () => {
  it('is answered with 503 at once, and used again when it is back', async () => {
    const redis = await startRedisServer()
    await using server = await startLocal({ redisUrl: redis.url })
    expect((await post(server, '/', ['INCR', 'n'])).status).toBe(200)
    await redis.stop()

    const error = { error: expect.stringContaining('did not answer') as string }
    const ask = async (): Promise<number> => (await post(server, '/', ['INCR', 'n'])).status
    expect(await until(ask, (status) => status === 503)).toBe(503)
    const started = Date.now()
    for (const path of ['/', '/pipeline', '/multi-exec']) {
      const body =
        path === '/'
          ? ['INCR', 'n']
          : [
              ['INCR', 'n'],
              ['INCR', 'n'],
            ]
      expect(await post(server, path, body)).toMatchObject({ status: 503, body: error })
    }
    // Three that waited for a connection would take nine seconds.
    expect(Date.now() - started).toBeLessThan(8_000)

    await using again = await startRedisServer({ port: redis.port })
    expect(again.url).toBe(redis.url)
    expect(await until(ask, (status) => status === 200)).toBe(200)
    // Nothing that was sent meanwhile is made up for.
    expect((await post(server, '/', ['GET', 'n'])).body).toEqual({ result: '1' })
  })

  it('never gets a command again whose reply was lost', async () => {
    const redis = await startRedisServer()
    await using server = await startLocal({ redisUrl: redis.url })
    const slow = 'local n = 0 while n < 1e12 do n = n + 1 end'
    const lost = post(server, '/', ['EVAL', slow, 0])
    const counted = post(server, '/', ['INCR', 'n'])
    process.kill(redis.pid, 'SIGKILL')
    expect((await lost).status).toBe(503)
    expect((await counted).status).toBe(503)
    await redis.stop()

    await using again = await startRedisServer({ port: redis.port })
    expect(again.port).toBe(redis.port)
    const ask = async (): Promise<unknown> => (await post(server, '/', ['GET', 'n'])).body
    const back = await until(ask, (body) => !JSON.stringify(body).includes('error'))
    expect(back).toEqual({ result: null })
  })
})
