/* The tools of `sluice mcp`, as an agent's client of today's protocol sees them; mcp-pipes.test.ts has one of 2025. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { flushUsage } from '@sluice/usage'
import { flushDenials } from '@sluice/usage/denials'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { ACME, createOperator, FREE, type Operator } from '../operator.ts'
import { NODES, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
const BIN = fileURLToPath(new URL('../../../packages/cli/bin/sluice.js', import.meta.url))
const READ_ONLY = ['docs', 'show', 'why', 'usage', 'log', 'preview', 'doctor']

let operator: Operator
const clients: Client[] = []
beforeEach(() => {
  operator = createOperator(redis.local)
})
afterEach(async () => {
  texts.length = 0
  for (const client of clients.splice(0)) await client.close()
})
afterAll(removeProjects)

async function connect(args: readonly string[] = [], node = process.execPath): Promise<Client> {
  const { folder } = operator.app
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  clients.push(client)
  await client.connect(
    new StdioClientTransport({
      command: node,
      args: [BIN, 'mcp', ...args],
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      stderr: 'ignore',
    }),
  )
  return client
}

async function ask(client: Client, name: string, given: Record<string, unknown> = {}) {
  const answer = await client.callTool({ name, arguments: given })
  const [content] = answer.content as readonly { text: string }[]
  const text = content?.text ?? ''
  if (name !== 'docs') texts.push(text)
  return { text, isError: answer.isError === true }
}

/** The answers of the tools. A page of the documentation has command lines. */
const texts: string[] = []

/** Returns the texts that name options of a command line: an agent has tools and their arguments. */
const commandLines = (): string[] =>
  texts
    .map((text) => text.replace(/--limits FILE, where sluice mcp is started$/, ''))
    .filter((text) => /(?:^|\s)--[a-z]|\bsluice [a-z]|[A-Z]=/.test(text))

type Mistake = readonly [name: string, given: Record<string, unknown>, says: string]

async function answersTo(client: Client, mistakes: readonly Mistake[]) {
  const answers = []
  for (const [name, given] of mistakes) answers.push(await ask(client, name, given))
  return answers
}

const errorsOf = (mistakes: readonly Mistake[]) =>
  mistakes.map(([, , says]) => ({ text: expect.stringContaining(says), isError: true }))

const MISTAKES: readonly Mistake[] = [
  ['why', {}, 'why needs the argument "subject"'],
  [
    'why',
    { subject: { tenant: 'acme' } },
    'a policy counts by route: add "subject": { "route": "NAME" }',
  ],
  ['why', { subject: {} }, 'such as "subject": { "tenant": "acme" }'],
  ['why', { subject: ACME, id: 'x' }, '"id" needs the tenant, and nothing else: "subject"'],
  ['why', { subject: ACME, cost: { token: '' } }, 'such as "token": "1200"'],
  ['why', { subject: ACME, cost: { usd: '1' } }, '"cost" counts dollars: write "usd": "$1"'],
  ['show', { subject: { project: '' } }, 'such as "subject": { "project": "p1" }'],
  ['log', { top: 'all' }, '"top" all must be a number from 1'],
  ['show', { tenant: 'acme' }, 'show has no argument "tenant", but subject'],
  ['show', { subject: 'acme' }, 'show: "subject" must be of the type object'],
  ['usage', { from: 'soon' }, '"from" soon must be a date'],
  ['preview', { log: 'log.csv' }, 'exports no list "configuration"'],
  ['preview', {}, 'name one "log"'],
  ['preview', { denials: true }, '"denials" and "tenant": "NAME" need each other'],
  ['preview', { log: 'log.csv', except: ['a', 'b'] }, '"except" needs "suggest"'],
  [
    'preview',
    { denials: true, tenant: 'acme', start: '1' },
    '"start" is for a log, and "denials" has none',
  ],
  [
    'why',
    { subject: { route: 'x' }, recent: true },
    '"recent" needs the tenant, and nothing else: "subject": { "tenant": "acme" }',
  ],
  ...[
    '--yes',
    '.env.local',
    '/proc/self/environ',
    '../log.csv',
    'a/.git/x.csv',
    '/etc/hosts.txt',
    'C:\\x\\..\\y.csv',
  ].map((log) => ['preview', { log }, 'log must be a file of the project'] as const),
  ['docs', { topic: '../../package' }, 'there is no page "../../package"'],
  ['nope', {}, 'there is no tool "nope"'],
]

const MISTAKES_OF_CHANGES: readonly Mistake[] = [
  ['set', { policy: 'rpm', settings: {} }, 'such as rpm and "limit": "30"'],
  ['set', { policy: 'rpm', settings: { Limit: '5' } }, 'such as "limit": "30"'],
  ['set', { policy: 'rpm', settings: { limit: '$5' } }, 'rpm counts requests, not dollars'],
  ['set', { policy: 'rpm', settings: { limit: '5' }, until: 'soon' }, '"until" soon must be'],
  ['set', { policy: 'budget', settings: { limit: '5' } }, 'write "limit": "$5"'],
  [
    'set',
    { policy: 'rpm', settings: { limit: '5' }, yes: true, note: 'x'.repeat(9_999) },
    '"note" must be',
  ],
  ['undo', { 'if-version': 'old' }, 'the tool log, and the same without "yes": true'],
]

describe('sluice mcp', () => {
  it.each(NODES)('serves what reads, and nothing that changes, on %s', async (node) => {
    const client = await connect([], node)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(READ_ONLY)
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    expect(await ask(client, 'set', { policy: 'rpm', settings: { limit: '5' } })).toEqual({
      text: expect.stringContaining('there is no tool "set"; there are docs, show'),
      isError: true,
    })
  })

  it('answers as the commands do', async () => {
    const { running, app } = operator
    await running.check(ACME, { cost: { request: 20, usd: 1_250_000 } })
    await flushUsage(running)
    app.write('log.csv', 'time,tenant,route,cost\n2026-11-26T10:00:00Z,acme,chat,0.01')
    const client = await connect()
    const subject = ACME
    const said = async (name: string, given?: Record<string, unknown>) => {
      const { text, isError } = await ask(client, name, given)
      expect({ isError, text: isError ? text : '' }).toEqual({ isError: false, text: '' })
      return text
    }
    expect(await said('show')).toContain('From src/limits.ts.')
    expect(await said('show', { subject })).toMatch(/^rpm +20 +20 +0 +request/m)
    expect(await said('why', { subject, cost: { usd: '$0.05' } })).toContain(
      'Denied by rpm: 20 of 20',
    )
    await running.check(ACME, { cost: { request: 3, usd: 120_000 } })
    await Promise.all([flushDenials(running), flushUsage(running)])
    expect(await said('why', { subject })).toMatch(
      /^It asks for 3 requests and \$0\.12, as the denial of \S+ \S+Z did\.\nDenied by rpm/m,
    )
    expect(await said('usage', { from: '24h', tenants: ['acme'] })).toMatch(/^acme +1 +1 /m)
    expect(await said('log', { top: '3' })).toBe('Nothing has been changed.')
    expect(await said('doctor')).toContain('src/limits.ts')
    expect(await said('docs')).toContain('recipes/api-keys: API keys')
    expect(await said('docs', { topic: 'policies' })).toMatch(/^# /)
  })

  it('changes what it may, first shown', async () => {
    const client = await connect(['--allow-changes'])
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([...READ_ONLY, 'set', 'undo'])
    const change = {
      policy: 'rpm',
      settings: { limit: '7' },
      subject: { tenant: 'acme' },
      note: 'a loop',
    }
    expect(await ask(client, 'set', change)).toMatchObject({
      text: expect.stringContaining('Add "yes": true to change it'),
    })
    expect(await operator.limitOf()).toBe(20)
    await ask(client, 'set', { ...change, yes: true })
    expect(await operator.limitOf()).toBe(7)
    expect((await ask(client, 'log')).text).toContain('a loop')
    const shown = await ask(client, 'undo')
    const [, version = ''] = /"yes": true, "if-version": "(\w+)"$/.exec(shown.text) ?? []
    await ask(client, 'undo', { yes: true, 'if-version': version })
    expect(await operator.limitOf()).toBe(20)
    expect((await operator.running.peek(ACME, FREE)).policies[0]?.remaining).toBe(20)
    expect(commandLines()).toEqual([])
  })

  it('says what is wrong with a call', async () => {
    operator.app.write('log.csv', 'time,tenant\n')
    expect(await answersTo(await connect(), MISTAKES)).toEqual(errorsOf(MISTAKES))
    expect(commandLines()).toEqual([])
  })

  it('says what is wrong with a change', async () => {
    const client = await connect(['--allow-changes'])
    expect(await answersTo(client, MISTAKES_OF_CHANGES)).toEqual(errorsOf(MISTAKES_OF_CHANGES))
    expect(commandLines()).toEqual([])
  })

  it('names its own options where no tool can name a limiter', async () => {
    const client = await connect(['--limits', 'none.ts'])
    expect((await ask(client, 'show')).text).toBe(
      'there is no file none.ts. Name another: --limits FILE, where sluice mcp is started',
    )
  })

  it('is not disturbed by what a file of limits prints', async () => {
    const { app } = operator
    app.write('noisy.ts', "console.log('noise')\nexport { limiter } from './src/limits'\n")
    const client = await connect(['--limits', 'noisy.ts'])
    expect((await ask(client, 'show')).text).toContain('From noisy.ts.')
  })

  it('ends with its client', async () => {
    const child = spawn(process.execPath, [BIN, 'mcp'], {
      cwd: operator.app.folder,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const exited = new Promise((resolve) => child.on('close', resolve))
    child.stdin.end()
    expect(await exited).toBe(0)
  })
})
