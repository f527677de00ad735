/* `sluice mcp` and long results over pipes whose readers are slow, and the files that its tools read. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { COMMAND, project, removeProjects, type Project } from '../project.ts'
import { ownEnv } from '../run-here.ts'

const outside = mkdtempSync(join(tmpdir(), 'sluice-outside-'))
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
afterAll(() => {
  removeProjects()
  rmSync(outside, { recursive: true, force: true })
})

const POLICIES = 13_000
const limitsOf = (policies: string): string => `
import { createLimiter, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
const window = (name) => slidingWindow({ name, limit: 20, window: '1m', per: ['tenant'] })
export const limiter = createLimiter({
  store: memory(),
  policies: ${policies},
  extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],
})
export const configuration = [{ policy: 'rpm', settings: { limit: 5 } }]
`
/** Policies whose list is longer than 1 MB. */
const LONG = `[window('rpm'), ...Array.from({ length: ${POLICIES} }, (_, at) => window(\`policy-\${at}-\${'x'.repeat(50)}\`))]`
const LOG = 'time,tenant\n2026-11-26T10:00:00Z,acme\n'

const appOf = (files: Readonly<Record<string, string>> = {}): Project =>
  project({ 'limits.mjs': limitsOf(`[window('rpm')]`), 'long.mjs': limitsOf(LONG), ...files })

const start = ({ folder }: Project, args: readonly string[]) =>
  spawn(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    env: ownEnv(folder),
    stdio: ['pipe', 'pipe', 'pipe'],
  })

/** Passes each chunk on when everything else has had its turn: the pipe before it is always full. */
const slowly = (): Transform =>
  new Transform({
    async transform(chunk, _, done) {
      for (let turn = 0; turn < 20; turn += 1) await setImmediate()
      done(null, chunk)
    },
  })

async function connect(app: Project, args: readonly string[] = []) {
  const child = start(app, ['mcp', ...args])
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const exited = new Promise((resolve) => child.on('close', resolve))
  const client = new Client({ name: 'test', version: '1.0.0' })
  closing.push(async () => {
    child.stdin.end()
    await exited
    await client.close()
  })
  // The transport of a server reads and writes the same lines.
  await client.connect(new StdioServerTransport(child.stdout.pipe(slowly()), child.stdin))
  return { client, stderr: () => stderr }
}

async function ask(client: Client, name: string, given: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: given })
  return {
    text: (content as readonly { text: string }[])[0]?.text ?? '',
    isError: isError === true,
  }
}

describe('a slow reader of sluice mcp', () => {
  it('gets an answer of 1 MB', async () => {
    const { client, stderr } = await connect(appOf(), ['--limits', 'long.mjs'])
    const { text, isError } = await ask(client, 'show')
    expect({ isError, isLong: text.length > 1_000_000 }).toEqual({ isError: false, isLong: true })
    expect(text.match(/^policy-\d+-/gm)).toHaveLength(POLICIES)
    expect(stderr()).toBe('')
  })

  it('gets the answers of 100 calls at once', async () => {
    const { client, stderr } = await connect(appOf())
    const calls = Array.from({ length: 100 }, (_, at) =>
      at % 2 === 0 ? ask(client, 'docs', { topic: 'decisions' }) : ask(client, 'show'),
    )
    const answers = await Promise.all(calls)
    expect(answers.filter(({ text }) => text.startsWith('# Decisions'))).toHaveLength(50)
    expect(answers.filter(({ text }) => text.includes('rpm'))).toHaveLength(100)
    expect(stderr()).toBe('')
  })

  it('gets all answers even if it has closed its side after the last call', async () => {
    const child = start(appOf(), ['mcp'])
    const requests = [
      {
        id: 0,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'test', version: '1.0.0' },
        },
      },
      ...Array.from({ length: 20 }, (_, at) => ({
        id: at + 1,
        method: 'tools/call',
        params: { name: 'docs', arguments: { topic: 'decisions' } },
      })),
    ]
    child.stdin.end(
      requests.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join(''),
    )
    let out = ''
    for await (const chunk of child.stdout.pipe(slowly())) out += String(chunk)
    const ids = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id]))
    expect(ids.toSorted((a, b) => a - b)).toEqual(requests.map(({ id }) => id))
  })
})

describe('a slow reader of a command', () => {
  it.each([
    ['a result', ['show', '--limits', 'long.mjs', '--json'], 0, 'limits'],
    ['an error', ['show', '--limiter', 'x'.repeat(100_000), '--json'], 1, 'error'],
  ])('gets all of %s as JSON', async (_, args, code, name) => {
    const child = start(appOf(), args)
    child.stdin.end()
    const exited = new Promise((resolve) => child.on('exit', resolve))
    let [out, err] = ['', '']
    const read = (async () => {
      for await (const chunk of child.stderr.pipe(slowly())) err += String(chunk)
    })()
    for await (const chunk of child.stdout.pipe(slowly())) out += String(chunk)
    await read
    expect(await exited).toBe(code)
    expect(out.length).toBeGreaterThan(100_000)
    expect(Object.keys(JSON.parse(out))).toContain(name)
    expect(err === '' || err.endsWith(', but limiter\n')).toBe(true)
  })
})

const SECRET = 'sk-live-51-secret'

/** Files that a log is not, by the path that a call names, with the file that it leads to. */
const NO_LOGS: readonly (readonly [name: string, make: (app: Project) => void])[] = [
  [
    'outside.csv',
    ({ folder }) => symlinkSync(join(outside, 'secret.csv'), join(folder, 'outside.csv')),
  ],
  ['folder/secret.csv', ({ folder }) => symlinkSync(outside, join(folder, 'folder'))],
  [
    'chain.csv',
    ({ folder }) => {
      symlinkSync(join(folder, 'second.csv'), join(folder, 'chain.csv'))
      symlinkSync(join(outside, 'secret.csv'), join(folder, 'second.csv'))
    },
  ],
  [
    'env.csv',
    ({ folder, ...app }) => {
      app.write('.env.production', `TOKEN=${SECRET}`)
      symlinkSync('.env.production', join(folder, 'env.csv'))
    },
  ],
  [
    'key.csv',
    ({ folder, ...app }) => {
      app.write('key.pem', SECRET)
      symlinkSync('key.pem', join(folder, 'key.csv'))
    },
  ],
  ['logs.csv', (app) => app.write('logs.csv/inside.csv', LOG)],
  ['missing.csv', () => {}],
  [
    'dangling.csv',
    ({ folder }) => symlinkSync(join(outside, 'none.csv'), join(folder, 'dangling.csv')),
  ],
  ['secret.txt', (app) => app.write('secret.txt', `${SECRET}\n`)],
  ['quoted.txt', (app) => app.write('quoted.txt', `a,b"${SECRET}\n`)],
  ['open.csv', (app) => app.write('open.csv', `"${SECRET}\n`)],
  ['headless.csv', (app) => app.write('headless.csv', `2026-11-26T10:00:00Z,${SECRET}\n`)],
  ['config.json', (app) => app.write('config.json', `{"${SECRET}":"${SECRET}"}\n`)],
  ['list.json', (app) => app.write('list.json', `[{"${SECRET}":1}]`)],
  ['spans.json', (app) => app.write('spans.json', `{"resourceSpans":"${SECRET}"}\n`)],
  ['access.log', (app) => app.write('access.log', `- - ${SECRET}\n`)],
]

describe('a log that an agent names', () => {
  it('is a file of the project by its real path, and quoted only if it is a log', async () => {
    writeFileSync(join(outside, 'secret.csv'), `${SECRET}\n${LOG}`)
    const app = appOf({ 'log.csv': LOG, 'logs/deep.csv': LOG })
    for (const [, make] of NO_LOGS) make(app)
    symlinkSync('logs/deep.csv', join(app.folder, 'link.csv'))
    const { client } = await connect(app)
    for (const [log] of NO_LOGS) {
      const calls = [{ log }, { log, columns: 'time=a,tenant=b' }, { log, format: 'jsonl' }]
      for (const given of calls) {
        const { text, isError } = await ask(client, 'preview', given)
        expect({ log, isError, text }).toEqual({
          log,
          isError: true,
          text: expect.not.stringContaining('secret'),
        })
      }
    }
    for (const log of ['log.csv', 'logs/deep.csv', 'link.csv']) {
      expect(await ask(client, 'preview', { log })).toMatchObject({
        isError: false,
        text: expect.stringContaining('Of 1 call'),
      })
    }
  })

  it('has its columns named if one of them has a usual name', async () => {
    const { client } = await connect(appOf({ 'log.csv': LOG.replace('time', 'when') }))
    expect((await ask(client, 'preview', { log: 'log.csv' })).text).toContain('"when", "tenant"')
  })
})

describe('the arguments of a tool', () => {
  it.each([
    ['show', { subject: ['acme'] }],
    ['show', { subject: { tenant: null } }],
    ['show', { subject: { tenant: { name: 'acme' } } }],
    ['why', { subject: { tenant: 'acme' }, cost: ['1'] }],
    ['usage', { tenants: { a: 1 } }],
    ['log', { top: 3 }],
  ])('are of their type: %s %j', async (name, given) => {
    const { client } = await connect(appOf())
    expect(await ask(client, name, given)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/must be (?:of the type|a text)/),
    })
  })
})
