import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { View } from '@sluice/dashboard'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { eventsIn } from '../../dashboard/support.ts'
import { post } from '../../local/client.ts'
import {
  appOf,
  endCommands,
  fileIn,
  inTerminal,
  pageOf,
  send,
  startDev,
  type App,
} from './dev-command.ts'
import { removeProjects } from '../project.ts'

afterEach(endCommands)
afterAll(removeProjects)

const SERVER = ['--', 'node', 'server.mjs']

async function redisPid({ url, token }: App): Promise<number> {
  const { body } = await post({ url, token }, '/', ['INFO', 'server'])
  return Number(/process_id:(\d+)/.exec(JSON.stringify(body))?.[1])
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

/** Reads the stream of a page until a tenant has this many decisions. */
async function tenantOnPage(page: string, tenant: string, decisions: number): Promise<unknown> {
  const { body } = await fetch(`${page}/stream`)
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    for (const { data } of eventsIn(text.slice(0, text.lastIndexOf('\n\n') + 2))) {
      const { tenants } = data as View
      const { allowed = 0, denied = 0 } = tenants.find((one) => one.tenant === tenant) ?? {}
      if (allowed + denied >= decisions) return { allowed, denied }
    }
  }
  throw new Error(`The stream has ended: ${text}`)
}

describe('sluice dev with a command', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    // The terminal has been closed.
    ['SIGHUP', 143],
  ] as const)(
    'shows the decisions of its limiter on the page, and ends all at %s',
    async (signal, exitCode) => {
      const dev = startDev(SERVER)
      const [page, app] = [await pageOf(dev), await appOf(dev)]
      expect(app.token).toBe('development')
      expect(await send(app, 'acme', 3)).toEqual([200, 200, 429])
      expect(await send(app, 'other', 1)).toEqual([200])
      expect(await tenantOnPage(page, 'acme', 3)).toEqual({ allowed: 2, denied: 1 })
      expect(await tenantOnPage(page, 'other', 1)).toEqual({ allowed: 1, denied: 0 })
      const redis = await redisPid(app)
      // npx passes a Ctrl-C on that the terminal has sent already.
      for (const _ of ['first', 'second']) dev.child.kill(signal)
      expect(await dev.exited).toBe(exitCode)
      expect([isGone(app.pid), isGone(redis)]).toEqual([true, true])
      for (const url of [page, app.url]) await expect(fetch(url)).rejects.toThrow('fetch failed')
    },
  )

  it('ends with its command, and says so, when its redis-server has ended', async () => {
    const dev = startDev(SERVER)
    const app = await appOf(dev)
    process.kill(await redisPid(app), 'SIGKILL')
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toContain('sluice: the redis-server of the store has ended by itself')
    expect(isGone(app.pid)).toBe(true)
  })

  it('says nothing of a redis-server that a signal has ended, too, as in a terminal', async () => {
    const dev = startDev(SERVER)
    const app = await appOf(dev)
    const redis = await redisPid(app)
    dev.child.kill('SIGINT')
    process.kill(redis, 'SIGINT')
    expect(await dev.exited).toBe(130)
    expect(dev.err()).not.toContain('by itself')
  })

  it('ends with the exit code of the command, whose output it leaves as it is', async () => {
    const dev = startDev(['--', 'node', '-e', 'console.log("out"); process.exitCode = 7'])
    expect(await dev.exited).toBe(7)
    expect(dev.out()).toBe('out\n')
    expect(dev.err()).not.toContain('by itself')
  })

  it('ends what the command has started and left', async () => {
    const dev = startDev(['--', 'sh', '-c', 'sleep 1000 & echo left $!; exit 3'])
    const left = Number(await dev.printed(/left (\d+)/))
    expect(await dev.exited).toBe(3)
    await expect.poll(() => isGone(left)).toBe(true)
  })

  it('ends all of a command that runs others, such as npm', async () => {
    const dev = startDev(['--', 'sh', '-c', 'node server.mjs; true'])
    const app = await appOf(dev)
    dev.child.kill('SIGTERM')
    await dev.exited
    await expect.poll(() => isGone(app.pid)).toBe(true)
  })

  // Other systems have another `script`.
  it.runIf(process.platform === 'linux')(
    'ends all of a command that runs others, in a terminal',
    async () => {
      const args = ['--', 'sh', '-c', 'node server.mjs; true']
      const dev = startDev(args, {}, {}, inTerminal)
      const [pid, app] = [Number(await dev.printed(/process (\d+)/)), await appOf(dev)]
      const redis = await redisPid(app)
      process.kill(pid, 'SIGTERM')
      await dev.exited
      expect([pid, app.pid, redis].filter((one) => !isGone(one))).toEqual([])
    },
  )

  it('ends a command that ignores signals', { timeout: 30_000 }, async () => {
    const dev = startDev(['--', 'sh', '-c', 'trap "" TERM; echo pid $$; while :; do sleep 1; done'])
    const pid = Number(await dev.printed(/pid (\d+)/))
    dev.child.kill('SIGTERM')
    expect(await dev.exited).toBe(137)
    expect(isGone(pid)).toBe(true)
  })

  it('takes a signal before its store is up, and leaves no redis-server', async () => {
    const real = execFileSync('which', ['redis-server'], { encoding: 'utf8' }).trim()
    const dev = startDev(
      ['--', 'node', '-e', 'require("fs").writeFileSync("has-run", "")'],
      { PATH: `bin:${process.env['PATH']}` },
      { 'bin/redis-server': `#!/bin/sh\necho $$ > pid\nkill -TERM $PPID\nexec ${real} "$@"\n` },
    )
    await dev.exited
    expect(isGone(Number(readFileSync(fileIn(dev, 'pid'), 'utf8')))).toBe(true)
    expect(existsSync(fileIn(dev, 'has-run'))).toBe(false)
  })

  it('says that there is no such command, and leaves nothing', async () => {
    const dev = startDev(['--', 'no-such-command'])
    const page = await pageOf(dev)
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toContain('sluice: there is no command "no-such-command" on the PATH')
    await expect(fetch(page)).rejects.toThrow('fetch failed')
    const redis = /at redis:\/\/(\S+)/.exec(dev.err())?.[1]
    await expect(fetch(`http://${redis}`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    })
  })

  it('wants -- before the command, whose options are not its own', async () => {
    const dev = startDev(['npm', 'run', 'dev'])
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toContain('write -- before the command: sluice dev -- COMMAND')
  })
})

describe('sluice dev without a command', () => {
  it('prints the four variables, and runs until a signal', async () => {
    const dev = startDev(['--engine', 'embedded', '--token', 'my-token'])
    const page = await pageOf(dev)
    await dev.printed(/^SLUICE_DASHBOARD_KEY=[\w-]{32}$/m)
    expect(dev.out()).toMatch(/^UPSTASH_REDIS_REST_URL=http:\S+$/m)
    expect(dev.out()).toMatch(/^UPSTASH_REDIS_REST_TOKEN=my-token$/m)
    expect(dev.out()).toContain(`\nSLUICE_DASHBOARD_URL=${page}/stream\n`)
    dev.child.kill('SIGINT')
    expect(await dev.exited).toBe(0)
  })

  it('ends, and says so, when its redis-server has ended', async () => {
    const dev = startDev([])
    const url = await dev.printed(/^UPSTASH_REDIS_REST_URL=(\S+)$/m)
    const app = { app: '', pid: 0, url, token: 'development' }
    await dev.printed(/^UPSTASH_REDIS_REST_TOKEN=/m)
    process.kill(await redisPid(app), 'SIGKILL')
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toContain('sluice: the redis-server of the store has ended by itself')
  })

  it('prints them as JSON, too', async () => {
    const dev = startDev(['--engine', 'embedded', '--json'])
    await dev.printed(/^\}$/m)
    expect(JSON.parse(dev.out())).toMatchObject({
      engine: 'embedded',
      page: expect.stringContaining('http://127.0.0.1:') as string,
      variables: { UPSTASH_REDIS_REST_TOKEN: 'development' },
    })
  })

  it.each(['--port', '--page-port'])('names the port that is in use: %s', async (option) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const dev = startDev([option, String(port), '--engine', 'embedded'])
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toMatch(new RegExp(`^sluice: port ${port} on 127\\.0\\.0\\.1.* in use`, 'i'))
    expect(dev.out()).toBe('')
    server.close()
  })

  it('refuses a port that is none', async () => {
    const same = startDev(['--port', '8123', '--page-port', '8123'])
    await same.exited
    expect(same.err()).toBe('sluice: --port and --page-port must be two ports\n')
    const dev = startDev(['--page-port', 'x'])
    expect(await dev.exited).toBe(1)
    expect(dev.err()).toBe('sluice: --page-port must be an integer from 0 to 65535\n')
  })
})

async function statusOf(
  page: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<number | undefined> {
  const { port, host } = new URL(page)
  const options = { host: '127.0.0.1', port, path, method, headers: { host, ...headers } }
  const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage]
  answer.destroy()
  return answer.statusCode
}

describe('the page of sluice dev', () => {
  it('is for this machine only: another name in Host gets 403, as with DNS rebinding', async () => {
    const page = await pageOf(startDev(['--engine', 'embedded']))
    const { port, host } = new URL(page)
    for (const own of [host, `localhost:${port}`, `[::1]:${port}`]) {
      expect(await statusOf(page, '/', { host: own })).toBe(200)
      expect(await statusOf(page, '/stream', { host: own })).toBe(200)
    }
    for (const path of ['/', '/stream']) {
      for (const foreign of ['evil.example', `evil.example:${port}`, 'localhost.evil.example']) {
        expect(await statusOf(page, path, { host: foreign })).toBe(403)
      }
    }
  })

  it.each(['x-forwarded-for', 'x-real-ip', 'forwarded'])(
    'is not for what a tunnel or a proxy passes on: %s',
    async (header) => {
      const page = await pageOf(startDev(['--engine', 'embedded']))
      for (const path of ['/', '/stream']) {
        expect(await statusOf(page, path, { [header]: '127.0.0.1' })).toBe(403)
      }
    },
  )

  it('has a stream for its own page only, and takes events with the key only', async () => {
    const page = await pageOf(startDev(['--engine', 'embedded']))
    expect(await statusOf(page, '/stream', { 'sec-fetch-site': 'same-origin' })).toBe(200)
    expect(await statusOf(page, '/stream', { 'sec-fetch-site': 'cross-site' })).toBe(403)
    // Pages of other ports of this machine are of the same site.
    expect(await statusOf(page, '/stream', { 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await statusOf(page, '/stream', { origin: 'http://localhost:3000' })).toBe(403)
    expect(await statusOf(page, '/stream', { origin: page })).toBe(200)
    expect(await statusOf(page, '/stream', {}, 'POST')).toBe(403)
    expect(await statusOf(page, '/other', {})).toBe(404)
  })
})
