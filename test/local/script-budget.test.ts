import { CommandError } from '../../packages/local/dist/engines/engine.js'
import type { Engine, Reply } from '../../packages/local/dist/engines/engine.js'
import { startEmbedded } from '../../packages/local/dist/engines/embedded/engine.js'
import { startLocal } from '@sluice/local'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from './client.ts'

const SHORT_MS = 50
const LONG_MS = 60_000

const ENDLESS_LOOP = 'while true do end'

const ENDLESS: readonly [what: string, script: string][] = [
  ['a loop', ENDLESS_LOOP],
  ['a loop around pcall', 'while true do pcall(function() while true do end end) end'],
  [
    'a loop around xpcall with a handler without end',
    'while true do xpcall(error, function() while true do end end) end',
  ],
  ['a loop around load', 'while true do load(function() while true do end end) end'],
  [
    'a pattern that backtracks',
    "return string.find(string.rep('a', 50000), string.rep('a-', 30) .. 'b')",
  ],
  ['gsub', "return (string.gsub(string.rep('a', 30000), '.-.-.-.-b', ''))"],
  ['redis.call in a loop', "while true do redis.call('GET', 'kept') end"],
  ['redis.pcall in a loop around pcall', "while true do pcall(redis.pcall, 'INCR', 'n') end"],
]

function text(reply: Reply | undefined): string {
  if (reply instanceof CommandError) return reply.message
  return Buffer.isBuffer(reply) ? reply.toString() : JSON.stringify(reply)
}

describe('the embedded engine', () => {
  // Short for what never ends; long for what must, because a busy machine may stop at any moment.
  const budget = { ms: LONG_MS }
  let engine: Engine
  beforeAll(async () => {
    engine = await startEmbedded({ budget })
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    await engine.execute(['FLUSHALL'])
    await engine.execute(['SET', 'kept', '1'])
  })

  const evaluate = async (script: string): Promise<string> =>
    text(await engine.execute(['EVAL', script, '0']))
  const kill = async (script = ENDLESS_LOOP): Promise<void> => {
    budget.ms = SHORT_MS
    const answer = await evaluate(script)
    budget.ms = LONG_MS
    expect(answer).toMatch(/^ERR Script killed: it ran for more than 0\.05 seconds/)
  }

  it.each(ENDLESS)('does not hang on %s, and goes on with what was stored', async (_, script) => {
    await kill(script)
    expect(text(await engine.execute(['GET', 'kept']))).toBe('1')
    expect(await evaluate("return redis.call('INCR', 'kept')")).toBe('2')
  })

  it('still knows a script that was loaded before another one was killed', async () => {
    const sha = text(await engine.execute(['SCRIPT', 'LOAD', "return redis.call('GET', 'kept')"]))
    await kill()
    expect(await engine.execute(['SCRIPT', 'EXISTS', sha])).toEqual([1])
    expect(text(await engine.execute(['EVALSHA', sha, '0']))).toBe('1')
  })

  it('answers requests that wait behind such a script, in order', async () => {
    const waiting = [
      kill(),
      evaluate("return redis.call('INCR', 'kept')"),
      evaluate("return 'last'"),
    ]
    expect((await Promise.all(waiting)).slice(1)).toEqual(['2', 'last'])
  })

  it('goes on with the transaction that such a script is part of', async () => {
    budget.ms = SHORT_MS
    const replies = engine.transaction([
      ['INCR', 'kept'],
      ['EVAL', ENDLESS_LOOP, '0'],
      ['INCR', 'kept'],
    ])
    const answers = (await replies) as readonly Reply[]
    budget.ms = LONG_MS
    expect(answers.map(text)).toEqual([
      '2',
      expect.stringContaining('Script killed') as string,
      '3',
    ])
    expect(await evaluate("return redis.call('INCR', 'kept')")).toBe('4')
  })

  it('ends a script that recurses until the stack is full', async () => {
    const recursions = [
      "return string.find(string.rep('a', 300000), string.rep('a?', 300000))",
      'local function f() return 1 + f() end return f()',
    ]
    for (const script of recursions) expect(await evaluate(script)).toMatch(/^ERR /)
    expect(await evaluate("return redis.call('GET', 'kept')")).toBe('1')
  })

  it('matches a key pattern without trying its stars in all combinations', async () => {
    const key = 'a'.repeat(5_000)
    await engine.execute(['SET', key, '1'])
    const pattern = `${'*a'.repeat(40)}*b`
    expect(await engine.execute(['KEYS', pattern])).toEqual([])
    expect(await engine.execute(['SCAN', '0', 'MATCH', pattern])).toEqual([Buffer.from('0'), []])
    expect(await engine.execute(['KEYS', '*a'.repeat(40)])).toHaveLength(1)
  })
})

describe('a server on the embedded engine', () => {
  it('answers a script that takes too long with an error, and the next request', async () => {
    await using server = await startLocal({ engine: 'embedded' })
    const answer = await post(server, '/', ['EVAL', 'while true do pcall(error) end', 0])
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: expect.stringContaining('it ran for more than 5 seconds') as string,
    })
    expect((await post(server, '/', ['PING'])).body).toEqual({ result: 'PONG' })
  })
})
