import { flushUsage } from '@sluice/usage'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { createOperator, FREE, type Operator } from '../operator.ts'
import { envOf, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

let app: Operator['app']
let running: Operator['running']
beforeEach(() => {
  ;({ app, running } = createOperator(redis.local))
})

const printableOnly = (text: string): string => text.replaceAll(/[\p{Cc}\u202E]/gu, '')

describe('names that anybody may send', () => {
  const HOSTILE = 'evil\u001B[31mRED\u0007\nFAKE 999\u202E\u009B1m'
  const SHOWN = String.raw`evil\u001b[31mRED\u0007\u000aFAKE 999\u202e\u009b1m`

  it.each([
    ['usage'],
    ['show --route x --tenant'],
    ['why --route x --tenant'],
    ['set rpm limit=5 --tenant'],
    ['reset --routes x --tenant'],
  ])('are shown, and not obeyed by the terminal: sluice %s', async (command) => {
    await running.check({ tenant: HOSTILE, route: HOSTILE }, FREE)
    await flushUsage(running)
    const args = command.split(' ')
    const { out } = await app.terminal(command === 'usage' ? args : [...args, HOSTILE])
    expect(out).toContain(SHOWN)
    expect(out.replaceAll('\n', '')).toBe(printableOnly(out))
    const json = await app.terminal([...args, ...(command === 'usage' ? [] : [HOSTILE]), '--json'])
    expect(JSON.stringify(JSON.parse(json.out))).toContain(JSON.stringify(HOSTILE).slice(1, -1))
    expect(json.out.replaceAll('\n', '')).toBe(printableOnly(json.out))
  })

  it('are not obeyed in errors, either', async () => {
    const { err } = await app.terminal(['set', HOSTILE, 'limit=5'])
    expect(err.replaceAll('\n', '')).toBe(printableOnly(err))
  })
})

describe('without its store', () => {
  it.each([[[]], [['--json']]])('show fails, also without settings to read: %j', async (json) => {
    app.write('.env.local', envOf({ url: 'http://127.0.0.1:1', token: 'secret-token' }))
    app.write(
      'limits.ts',
      `
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
export const limiter = createLimiter({
  store: upstash(),
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })],
})`,
    )
    const args = ['show', '--tenant', 'acme', '--limits', 'limits.ts', ...json]
    const { out, err, exitCode } = await app.sluice(args)
    expect(json.length > 0 ? out : err).toContain('store_unreachable')
    expect(exitCode).toBe(1)
  })

  it.each([
    ['http://user:pw@127.0.0.1:9', 'without a user or password'],
    ['redis://127.0.0.1:9', 'must be an http(s) URL'],
    ['rubbish', 'must be an http(s) URL'],
  ])('no command reports success with the address %s', async (url, says) => {
    app.write('.env.local', envOf({ url, token: 'secret-token' }))
    for (const command of [
      'show',
      'set rpm limit=5',
      'usage',
      'log',
      'undo',
      'why --tenant a --route b',
    ]) {
      const { out, err, exitCode } = await app.terminal(command.split(' '))
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 })
      expect(out + err).toContain(says)
      expect(out + err).not.toMatch(/secret-token|pw@/)
    }
  })

  it('fails, and prints a code for programs; the limits of the code are shown', async () => {
    app.write('.env.local', envOf({ ...redis.local, token: 'wrong' }))
    const shown = await app.terminal(['show'])
    expect(shown.exitCode).toBe(1)
    expect(shown.out).toContain('starter 20, growth 60')
    expect(shown.out).toContain('What was changed at run time is not known: The store refused')
    const why = await app.terminal(['why', '--tenant', 'acme', '--route', 'chat'])
    expect(why.exitCode).toBe(1)
    for (const command of ['set rpm limit=5', 'usage', 'show', 'log', 'undo', 'undo --yes']) {
      const { out, exitCode } = await app.terminal([...command.split(' '), '--json'])
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 })
      expect(JSON.parse(out)).toMatchObject({ error: { code: 'store_unauthorized' } })
    }
  })
})
