import { createHash } from 'node:crypto'
import { startLocal } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from './client.ts'

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')
const flagged = (body: string): string => `#!lua flags=allow-key-locking\n${body}`
const NO_SCRIPT = { error: 'NOSCRIPT No matching script. Please use EVAL.' }

describe.each(['redis-server', 'embedded'] as const)('the key-locking flag on %s', (engine) => {
  let server: LocalServer
  let stock: LocalServer

  beforeAll(async () => {
    server = await startLocal({ engine })
    stock = await startLocal({ engine, scriptFlag: false })
  })
  afterAll(async () => {
    await server.close()
    await stock.close()
  })

  const ask = async (...command: unknown[]): Promise<unknown> =>
    (await post(server, '/', command)).body

  it('answers NOSCRIPT, runs the text, then its hash, until the scripts are flushed', async () => {
    const script = flagged("return redis.call('INCR', KEYS[1])")
    const sha = sha1(script)
    expect(await ask('EVALSHA', sha, 1, 'a')).toEqual(NO_SCRIPT)
    expect(await ask('SCRIPT', 'EXISTS', sha)).toEqual({ result: [0] })
    expect(await ask('EVAL', script, 1, 'a')).toEqual({ result: 1 })
    expect(await ask('EVALSHA', sha, 1, 'a')).toEqual({ result: 2 })
    expect(await ask('evalsha', sha.toUpperCase(), 1, 'a')).toEqual({ result: 3 })
    expect(await ask('SCRIPT', 'EXISTS', sha, sha1('other'))).toEqual({ result: [1, 0] })
    expect(await ask('SCRIPT', 'FLUSH')).toEqual({ result: 'OK' })
    expect(await ask('EVALSHA', sha, 1, 'a')).toEqual(NO_SCRIPT)
    expect(await ask('SCRIPT', 'EXISTS', sha)).toEqual({ result: [0] })
    expect(await ask('GET', 'a')).toEqual({ result: '3' })
  })

  it('loads a script under the hash of the text that was sent', async () => {
    const script = flagged('return ARGV[1]')
    expect(await ask('SCRIPT', 'LOAD', script)).toEqual({ result: sha1(script) })
    expect(await ask('EVALSHA', sha1(script), 0, 'x')).toEqual({ result: 'x' })
    expect(await ask('EVALSHA_RO', sha1(script), 0, 'x')).toEqual({ result: 'x' })
    expect(await ask('EVAL_RO', script, 0, 'y')).toEqual({ result: 'y' })
  })

  it('reports errors by the hash and the lines of the text that was sent', async () => {
    const script = flagged("\nreturn redis.call('NOPE')")
    const answer = (await ask('EVAL', script, 0)) as { error: string }
    expect(answer.error).toContain(`script: ${sha1(script)}, on @user_script:3.`)
  })

  it('does so in pipelines and transactions, too', async () => {
    const script = flagged("return redis.call('INCR', KEYS[1])")
    const commands = [
      ['EVAL', script, 1, 'p'],
      ['EVALSHA', sha1(script), 1, 'p'],
      ['SCRIPT', 'LOAD', script],
    ]
    for (const path of ['/pipeline', '/multi-exec']) {
      const { body } = await post(server, path, [['DEL', 'p'], ...commands])
      expect(body).toMatchObject([{}, { result: 1 }, { result: 2 }, { result: sha1(script) }])
    }
  })

  it('takes no other first line for the flag', async () => {
    for (const first of [' #!lua flags=allow-key-locking', '#!lua flags=allow-key-locking ']) {
      expect(await ask('EVAL', `${first}\nreturn 1`, 0)).toHaveProperty('error')
    }
    expect(await ask('EVAL', '\n#!lua flags=allow-key-locking\nreturn 1', 0)).toHaveProperty(
      'error',
    )
  })

  it('with scriptFlag: false gives the error of a stock Redis', async () => {
    const refusal = { error: 'ERR Unexpected flag in script shebang: allow-key-locking' }
    const commands = [
      ['EVAL', flagged('return 1'), 0],
      ['SCRIPT', 'LOAD', flagged('return 1')],
    ]
    for (const command of commands) {
      const answer = await post(stock, '/', command)
      expect(answer).toMatchObject({ status: 400, body: refusal })
    }
    expect((await post(stock, '/', ['EVAL', 'return 1', 0])).body).toEqual({ result: 1 })
  })
})
