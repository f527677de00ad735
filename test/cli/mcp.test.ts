/* The tools of `sluice mcp`, as an agent's client sees them. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { flushUsage } from '@sluice/usage'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { ACME, createOperator, FREE, type Operator } from './operator.ts'
import { NODES, removeProjects } from './project.ts'

const redis = sharedRedisOverHttp()
const BIN = fileURLToPath(new URL('../../packages/cli/bin/sluice.js', import.meta.url))
const READ_ONLY = ['docs', 'show', 'why', 'usage', 'log', 'preview', 'doctor']

let operator: Operator
const clients: Client[] = []
beforeEach(() => {
  operator = createOperator(redis.local)
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})
afterAll(removeProjects)

async function connect(args: readonly string[] = [], node = process.execPath): Promise<Client> {
  const { folder } = operator.app
  const client = new Client({ name: 'test', version: '1.0.0' })
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
  return { text: content?.text ?? '', isError: answer.isError === true }
}

const MISTAKES: readonly (readonly [name: string, given: Record<string, unknown>, says: string])[] =
  [
    ['why', {}, 'why needs the argument "subject"'],
    ['why', { subject: { tenant: 'acme' } }, 'a policy counts by route: add --route NAME'],
    ['show', { tenant: 'acme' }, 'show has no argument "tenant", but subject'],
    ['show', { subject: 'acme' }, 'show: "subject" must be of the type object'],
    ['usage', { from: 'soon' }, '--from soon must be a date'],
    ['preview', { log: 'log.csv' }, 'exports no list "configuration"'],
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
    expect(await said('usage', { from: '24h', tenants: ['acme'] })).toMatch(/^acme +1 +0 /m)
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
      text: expect.stringContaining('Add --yes'),
    })
    expect(await operator.limitOf()).toBe(20)
    await ask(client, 'set', { ...change, yes: true })
    expect(await operator.limitOf()).toBe(7)
    expect((await ask(client, 'log')).text).toContain('a loop')
    await ask(client, 'undo', { yes: true })
    expect(await operator.limitOf()).toBe(20)
    expect((await operator.running.peek(ACME, FREE)).policies[0]?.remaining).toBe(20)
  })

  it.each(MISTAKES)('says what is wrong with a call: %s %j', async (name, given, says) => {
    const answer = await ask(await connect(), name, given)
    expect(answer).toEqual({ text: expect.stringContaining(says), isError: true })
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
