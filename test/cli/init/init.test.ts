import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { filesOf, startPage } from '../../../scripts/start-pages.ts'
import { freePort } from '../../e2e/support/ports.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { printedCall, type PrintedCall } from './printed-call.ts'
import { COMMAND, NODES, project, removeProjects, runIn, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
const servers: ChildProcess[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.kill()
})
afterAll(removeProjects)

/** The frameworks, the package that a project of theirs has, and the files that are made. */
const FRAMEWORKS: readonly (readonly [
  name: string,
  dependency: string,
  files: readonly string[],
])[] = [
  ['nextjs', 'next', ['limits.ts', 'auth.ts', 'proxy.ts', 'app/api/ai/chat/route.ts']],
  [
    'sveltekit',
    '@sveltejs/kit',
    ['src/limits.ts', 'src/auth.ts', 'src/hooks.server.ts', 'src/routes/api/ai/chat/+server.ts'],
  ],
  [
    'astro',
    'astro',
    [
      'src/limits.ts',
      'src/auth.ts',
      'src/middleware.ts',
      'src/pages/api/ai/chat.ts',
      'astro.config.mjs',
    ],
  ],
  ['cloudflare', 'wrangler', ['limits.ts', 'worker.ts', 'wrangler.jsonc']],
  ['hono', 'hono', ['limits.ts', 'auth.ts', 'server.ts']],
  ['express', 'express', ['limits.ts', 'auth.ts', 'server.ts']],
  ['fastify', 'fastify', ['limits.ts', 'auth.ts', 'server.ts']],
  ['h3', 'h3', ['limits.ts', 'auth.ts', 'server.ts']],
]

const app = (dependency: string, files: Readonly<Record<string, string>> = {}): Project =>
  project({
    'package.json': JSON.stringify({ type: 'module', dependencies: { [dependency]: '*' } }),
    ...files,
  })

const read = ({ folder }: Project, path: string): string => readFileSync(join(folder, path), 'utf8')

it('says which of two frameworks it has taken, and how to choose the other', async () => {
  const packages = JSON.stringify({ dependencies: { express: '*', hono: '*', fastify: '*' } })
  const two = project({ 'package.json': packages })
  expect((await two.sluice(['init'])).out.split('\n').slice(0, 2)).toEqual([
    'hono:',
    '  package.json also names express and fastify. To limit that instead of hono: --framework express or --framework fastify',
  ])
  expect((await two.sluice(['init', '--framework', 'express'])).out).not.toContain('also names')
  expect(JSON.parse((await two.sluice(['init', '--json'])).out)).toMatchObject({
    framework: 'hono',
    others: ['express', 'fastify'],
  })
})

describe.each(FRAMEWORKS)('sluice init, in a project of %s', (name, dependency, files) => {
  it('shows the files of its example, writes them with --yes, and has nothing to add then', async () => {
    const one = app(dependency)
    const shown = await one.sluice(['init'])
    expect(shown).toMatchObject({ err: '', exitCode: 0 })
    expect(shown.out).toContain('Nothing is written. Add --yes to write it.')
    expect(files.filter((path) => existsSync(join(one.folder, path)))).toEqual([])
    const made = await one.sluice(['init', '--yes'])
    expect(made.out.split('\n')[0]).toBe(`${name}:`)
    for (const path of files) {
      const example = new URL(`../../../examples/${name}/${path}`, import.meta.url)
      expect(read(one, path)).toBe(readFileSync(example, 'utf8'))
    }
    const secrets = name === 'cloudflare' ? '.dev.vars' : '.env'
    expect(read(one, secrets)).toMatch(/^JWT_SECRET=[0-9a-f]{64}$/m)
    expect(read(one, '.env.example')).toContain('JWT_SECRET=\n')
    expect(read(one, '.gitignore').split('\n')).toContain(secrets)
    expect(shown.out).not.toContain(/JWT_SECRET=(\w+)/.exec(read(one, secrets))?.[1])
    const next = made.out.split('Next:\n')[1]?.split('\n') ?? []
    expect(next[0]).toMatch(/^ {2}npm install .*@sluice\/core/)
    expect(next.at(-3)).toContain('npx @sluice/cli local --token development')
    expect(next.at(-1)).toMatch(/^ {2}curl .*localhost:\d+\/api\/ai\/chat$/)
    const again = await one.sluice(['init', '--yes', '--json'])
    expect(JSON.parse(again.out)).toMatchObject({ framework: name, changes: [] })
  })

  it('takes back what it has made, and nothing else', async () => {
    const before = { '.gitignore': 'dist\n', '.env.local': 'MINE=1\n' }
    const one = app(dependency, before)
    await one.sluice(['init', '--yes'])
    const shown = await one.sluice(['init', '--remove'])
    expect(shown.out).toContain('Nothing is removed. Add --yes to remove it.')
    for (const path of files) expect(existsSync(join(one.folder, path))).toBe(true)
    const { out, exitCode } = await one.sluice(['init', '--remove', '--yes'])
    expect(exitCode).toBe(0)
    expect(out).toMatch(/Next:\n {2}npm uninstall @sluice\/core .*@sluice\/cli/)
    expect(readdirSync(one.folder, { recursive: true }).map(String)).toHaveLength(3)
    expect(read(one, '.gitignore')).toBe('dist\n')
    const again = await one.sluice(['init', '--remove', '--yes'])
    expect(again.out).toContain('Nothing of it is here.')
  })

  it('writes into src where the app has its own there, and starts and finds it there', async () => {
    const one = app(dependency, { 'src/mine.ts': '', 'src/app/page.tsx': '' })
    const { out } = await one.sluice(['init', '--yes'])
    const sources = files.filter((path) => !/^wrangler|^astro/.test(path))
    for (const path of sources) {
      const inSrc = path.startsWith('src/') ? path : `src/${path}`
      expect([inSrc, existsSync(join(one.folder, inSrc))]).toEqual([inSrc, true])
    }
    const started = files.includes('wrangler.jsonc') ? read(one, 'wrangler.jsonc') : out
    const own = files.find((path) => /^(?:worker|server)\.ts$/.test(path))
    expect(started.includes(`src/${own}`)).toBe(own !== undefined)
    await one.sluice(['init', '--remove', '--yes'])
    expect(sources.filter((path) => existsSync(join(one.folder, 'src', path)))).toEqual([])
    expect(existsSync(join(one.folder, 'src/mine.ts'))).toBe(true)
  })
})

describe('sluice init', () => {
  it('prints a command that can run with the Node.js that prints it', async () => {
    const nodes = NODES.map((node) => [node])
    const withoutTypes = [process.execPath, '--no-experimental-strip-types']
    for (const [node = '', ...flags] of [...nodes, withoutTypes]) {
      const one = project({ 'probe.ts': 'const answer: number = 42; console.log(answer)' })
      const command = ['init', '--framework', 'hono', '--yes']
      const { out } = await runIn(one.folder, node, [...flags, COMMAND, ...command])
      const [, program] = /^ {2}(.*) --env-file=\.env server\.ts/m.exec(out) ?? []
      const probe = await runIn(one.folder, node, [...flags, 'probe.ts'])
      expect(program).toBe(probe.out === '42' ? 'node' : 'npx tsx')
    }
  })

  it.each(['.env*', '.env.*', '/.env*'])(
    'keeps .env.example in a repository that ignores %s',
    async (pattern) => {
      const one = app('next', { '.gitignore': `${pattern}\n` })
      await one.sluice(['init', '--yes'])
      expect(read(one, '.gitignore')).toMatch(/\n!\.env\.example\n$/)
      const git = (...args: string[]) => spawnSync('git', args, { cwd: one.folder }).status
      git('init', '-q')
      expect(git('check-ignore', '-q', '.env.example')).toBe(1)
      expect(git('check-ignore', '-q', '.env')).toBe(0)
    },
  )

  it('shows of a file that exists only the lines that it lacks', async () => {
    const file = "import { Hono } from 'hono'\n\nconst app = new Hono()\nexport default app\n"
    const one = app('hono', { 'src/index.ts': file })
    const { out } = await one.sluice(['init'])
    const [, shown = ''] = /leave src\/index\.ts[^\n]*\n((?: {6}[^\n]*\n)+)/.exec(out) ?? []
    expect(shown).toContain("import { rateLimit } from '@sluice/adapters/hono'")
    expect(shown).not.toContain("from 'hono'")
    expect(shown).not.toContain('const app = new Hono()')
  })

  it('leaves files that exist as they are, and shows what they lack', async () => {
    const one = app('express', {
      'src/app.ts': 'mine',
      '.env': 'JWT_SECRET=mine',
      '.gitignore': 'dist',
    })
    const { out } = await one.sluice(['init', '--yes'])
    expect(out).toContain('leave src/app.ts, which exists: add what it lacks')
    expect(out).toContain('rateLimit(limiter, { subject: tenantFromJwt })')
    expect(read(one, 'src/app.ts')).toBe('mine')
    expect(existsSync(join(one.folder, 'server.ts'))).toBe(false)
    expect(read(one, '.env')).toMatch(
      /^JWT_SECRET=mine\nUPSTASH_REDIS_REST_URL=.+\nUPSTASH_REDIS_REST_TOKEN=.+\n$/,
    )
    expect(read(one, '.gitignore')).toBe('dist\n.env\n')
  })

  it('makes a Worker without Redis, and no store for it', async () => {
    const one = app('wrangler')
    const { out, exitCode } = await one.sluice(['init', '--framework', 'durable-objects', '--yes'])
    expect(exitCode).toBe(0)
    const page = filesOf(startPage('durable-objects'))
    for (const path of ['limits.ts', 'worker.ts', 'wrangler.jsonc']) {
      expect(read(one, path)).toBe(page.get(path))
    }
    expect(read(one, '.dev.vars')).toMatch(/^JWT_SECRET=[0-9a-f]{64}\n$/)
    expect(read(one, '.env.example')).toBe('JWT_SECRET=\n')
    expect(out).not.toMatch(/sluice\/cli local|UPSTASH/)
  })

  it('uses the store that a project has', async () => {
    const one = app('next', {
      '.env.local': 'UPSTASH_REDIS_REST_URL=https://a.b\nUPSTASH_REDIS_REST_TOKEN=t\nJWT_SECRET=\n',
    })
    const { out } = await one.sluice(['init', '--yes'])
    expect(out).not.toContain('sluice/cli local')
    expect(out).toContain('# the store is that of .env.local: these calls count there')
    expect(read(one, '.env')).toMatch(/^JWT_SECRET=[0-9a-f]{64}\n$/)
    expect(statSync(join(one.folder, '.env')).mode & 0o077).toBe(0)
  })

  it('writes nothing if it cannot write all', async () => {
    const one = app('hono')
    symlinkSync('nowhere', join(one.folder, 'server.ts'))
    const { err, exitCode } = await one.sluice(['init', '--yes'])
    expect({ err, exitCode }).toEqual({
      err: 'sluice: server.ts cannot be written: it is a link to nothing. Nothing is written',
      exitCode: 1,
    })
    expect(readdirSync(one.folder).toSorted()).toEqual(['package.json', 'server.ts'])
    for (const folder of ['.env', 'limits.ts']) {
      const other = app('hono')
      mkdirSync(join(other.folder, folder))
      const { err: why } = await other.sluice(['init', '--yes'])
      expect(why).toContain(`sluice: ${folder} cannot be read: EISDIR`)
      expect(readdirSync(other.folder).toSorted()).toEqual([folder, 'package.json'].toSorted())
    }
  })

  it.each([
    ['nextjs', 'next', 'middleware.ts'],
    ['cloudflare', 'wrangler', 'wrangler.toml'],
    ['cloudflare', 'wrangler', 'src/index.ts'],
  ])('does not write beside the %s file of another name: %s %s', async (_, dependency, path) => {
    const one = app(dependency, { [path]: 'mine' })
    const { out } = await one.sluice(['init', '--yes', '--json'])
    expect((JSON.parse(out) as { changes: unknown[] }).changes).toContainEqual({
      path,
      kind: 'keep',
    })
    expect(
      ['proxy.ts', 'wrangler.jsonc', 'worker.ts'].filter((each) =>
        existsSync(join(one.folder, each)),
      ).length,
    ).toBe(path === 'middleware.ts' ? 0 : 1)
  })

  it.each(['15', '^15.3.0', '~15.2.3'])('writes middleware.ts for Next.js %s', async (range) => {
    const one = project({ 'package.json': JSON.stringify({ dependencies: { next: range } }) })
    await one.sluice(['init', '--yes'])
    expect(read(one, 'middleware.ts')).toContain('export const middleware = rateLimit(')
    expect(existsSync(join(one.folder, 'proxy.ts'))).toBe(false)
  })

  it('leaves a project of CommonJS one', async () => {
    const one = project({
      'package.json': JSON.stringify({ dependencies: { express: '5' } }),
      'server.js': "require('express')",
    })
    const { out } = await one.sluice(['init', '--yes'])
    expect(out).not.toContain('type=module')
    expect(out).toContain('# if server.js uses require, it gets these files by import()')
    expect(out).toContain('# start server.js as you do')
  })

  it.each([
    [
      '{}',
      [],
      'package.json names no framework that is known here. Name one: --framework NAME, of nextjs',
    ],
    ['{', [], 'package.json does not parse'],
    ['{}', ['--framework', 'rails'], '--framework rails must be one of nextjs'],
  ] as const)('refuses %s %s', async (manifest, args, says) => {
    const { err, exitCode } = await project({ 'package.json': manifest }).sluice(['init', ...args])
    expect({ exitCode, says: err.includes(says) ? says : err }).toEqual({ exitCode: 1, says })
  })

  it('creates no app of SvelteKit', async () => {
    const { err } = await project({}).sluice(['init', '--framework', 'sveltekit', '--yes'])
    expect(err).toBe(
      'sluice: create an app first: npx sv create. Then run sluice init in its folder',
    )
  })

  it.each(['hono', 'express', 'fastify', 'h3'])(
    'leads from an empty folder to a 429: %s',
    async (framework) => {
      const one = project({})
      const { out, exitCode } = await one.sluice(['init', '--framework', framework, '--yes'])
      expect(exitCode).toBe(0)
      const { call, statuses } = await serve(one, printedCall(out))
      for (let count = 0; count < 22; count += 1) await call()
      expect(statuses).toEqual([...Array<number>(20).fill(200), 429, 429])
    },
  )
})

/** Starts the server of a project, with the variables that it was given but for the store, and calls it as a tenant. */
async function serve({ folder }: Project, printed: PrintedCall) {
  const port = await freePort()
  const { url, token } = redis.local
  const env = {
    PATH: process.env['PATH'],
    PORT: String(port),
    UPSTASH_REDIS_REST_URL: url,
    UPSTASH_REDIS_REST_TOKEN: token,
  }
  const server = spawn(process.execPath, ['--env-file=.env', 'server.ts'], {
    cwd: folder,
    env,
    stdio: 'pipe',
  })
  servers.push(server)
  let output = ''
  server.stderr.on('data', (chunk) => (output += String(chunk)))
  const secret = /JWT_SECRET=(\w+)/.exec(readFileSync(join(folder, '.env'), 'utf8'))?.[1] ?? ''
  const jwt = await new SignJWT({ tenant: `init-${crypto.randomUUID()}` })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(secret))
  const statuses: number[] = []
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/api/ai/chat`, {
      ...printed,
      headers: { ...printed.headers, authorization: `Bearer ${jwt}` },
    })
  const call = async (): Promise<void> => {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      try {
        statuses.push((await ask()).status)
        return
      } catch {
        await new Promise((resolve) => {
          setTimeout(resolve, 100)
        })
      }
    }
    throw new Error(`the server does not answer: ${output}`)
  }
  return { call, statuses }
}
