import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLimiter, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import type { Request as ExpressRequest } from 'express'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { filesOf, startPage } from '../../scripts/start-pages.ts'
import { importBlock, readBlock } from '../support/docs-block.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('own-routes-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.doUnmock('next/headers')
})

type Handler = (request: Request) => Promise<Response>

/** Writes a module of the reader's own, whose functions are those of the test. */
function own(file: string, functions: Record<string, unknown>): void {
  vi.stubGlobal(file, functions)
  const names = Object.keys(functions).join(', ')
  writeFileSync(join(folder, file), `export const { ${names} } = globalThis['${file}']`)
}

const left = ({ headers }: Response) => headers.get('x-ratelimit-remaining')

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Request =>
  new Request(`https://app.example${path}`, {
    method: 'POST',
    headers: { 'x-real-ip': '192.0.2.7', ...headers },
    body: JSON.stringify(body),
  })

describe('the page on tests of your own route', () => {
  it('has a test that passes with its limits, and fails with others', { timeout: 60_000 }, () => {
    for (const limit of ['20', '21']) {
      const app = join(folder, `limit-${limit}`)
      mkdirSync(app)
      for (const [file, code] of filesOf(startPage('fetch'))) {
        writeFileSync(join(app, file), code.replace('limit: 20', `limit: ${limit}`))
      }
      writeFileSync(join(app, 'app.test.ts'), readBlock('testing.md', 'app.test.ts'))
    }
    writeFileSync(
      join(folder, 'vitest.config.mjs'),
      'export default { test: { testTimeout: 60_000 } }',
    )
    const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
    const { VITEST: _, ...env } = process.env
    const args = [vitest, 'run', '--root', folder, '--reporter=tap-flat']
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
    const results = stdout.match(/^(?:not )?ok \d+ - limit-\d+/gm)?.toSorted()
    expect(results?.map((line) => line.replace(/\d+ /, ''))).toEqual([
      'not ok - limit-21',
      'not ok - limit-21',
      'ok - limit-20',
      'ok - limit-20',
    ])
  })
})

describe('the recipe for Server Actions', () => {
  it('limits an action inside it, and says when to come back', async () => {
    const session = { value: 's1' as string | undefined }
    vi.doMock('next/headers', () => ({ cookies: async () => ({ get: () => session }) }))
    const clock = manualClock(0)
    const limit = { name: 'rpm', limit: 2, window: '1m', per: ['tenant', 'route'] } as const
    const limiter = createLimiter({ store: memory(), clock, policies: [slidingWindow(limit)] })
    const summarise = vi.fn<() => Promise<string>>().mockResolvedValue('short')
    own('limits.ts', { limiter })
    own('app.ts', {
      summarise,
      tenantOf: async (value?: string) => (value === 's1' ? 'acme' : undefined),
    })
    const { summariseNotes } = await importBlock<{
      summariseNotes: (notes: string) => Promise<object>
    }>(folder, 'recipes/server-actions.md', 'actions.ts')
    const act = () => summariseNotes('long')

    expect([await act(), await act()]).toEqual([{ summary: 'short' }, { summary: 'short' }])
    const denied = { error: 'Not now: rate_limit_exceeded.', retryAfterMs: 60_000 }
    expect(await act()).toEqual(denied)
    session.value = undefined
    expect(await act()).toEqual({ error: 'Sign in first.' })
    expect(summarise).toHaveBeenCalledTimes(2)
  })
})

describe('the recipe for GraphQL', () => {
  it('charges the points of a query, and leaves its body to the server', async () => {
    const queries: unknown[] = []
    own('schema.ts', {
      pointsOf: (query: string) => {
        if (query === 'no query') throw new SyntaxError('Unexpected Name')
        return query.length * 100
      },
      serve: async (request: Request) => {
        queries.push(await request.json())
        return Response.json({ data: {} })
      },
      tenantOf: ({ headers }: Request) => ({ tenant: headers.get('x-tenant') ?? 'acme' }),
    })
    const { handler } = await importBlock<{ handler: Handler }>(
      folder,
      'recipes/graphql.md',
      'graphql.ts',
    )
    const send = (body: unknown, tenant = 'acme') =>
      handler(post('/graphql', body, { 'x-tenant': tenant }))

    expect(left(await send({ query: '{ a }' }))).toBe('500')
    expect(left(await send([{ query: '{a}' }, { query: '' }]))).toBe('200')
    expect(queries).toEqual([{ query: '{ a }' }, [{ query: '{a}' }, { query: '' }]])
    const denied = await send({ query: '{a}' })
    expect(denied.status).toBe(429)
    const { errors } = (await denied.json()) as { errors: { extensions: object }[] }
    expect(errors[0]?.extensions).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: expect.any(Number),
    })
    for (const body of [{ query: 1 }, {}, null, [], 'text', [null], { query: 'no query' }]) {
      const { status } = await send(body, 'globex')
      expect([body, status]).toEqual([body, Array.isArray(body) && body.length === 0 ? 200 : 400])
    }
    const inAddress = post('/graphql?query=' + 'x'.repeat(11), { query: '{a}' })
    expect((await handler(inAddress)).status).toBe(400)
    const byGet = new Request('https://app.example/graphql?query={a}')
    expect((await handler(byGet)).status).toBe(400)
    const tooLong = await send({ query: 'x'.repeat(11) }, 'initech')
    expect(await tooLong.json()).toMatchObject({
      errors: [{ message: 'cost_exceeds_limit', extensions: { retryAfterMs: null } }],
    })
  })
})

describe('the recipe for logins', () => {
  it('counts wrong passwords by e-mail and address, and keeps no e-mail', async () => {
    vi.stubEnv('EMAIL_SECRET', 'a secret of at least thirty-two bytes')
    const tried: string[] = []
    own('users.ts', {
      isRight: async (email: string, password: string) => {
        tried.push(email)
        return password === 'right'
      },
    })
    const { handler } = await importBlock<{ handler: Handler }>(
      folder,
      'recipes/logins.md',
      'logins.ts',
    )
    const attempt = async (email: string, password = 'wrong', address = '192.0.2.7') => {
      const answer = await handler(post('/login', { email, password }, { 'x-real-ip': address }))
      expect(answer.headers.has('x-ratelimit-remaining')).toBe(false)
      return answer.status
    }
    const attempts = async (count: number, ...given: Parameters<typeof attempt>) => {
      const statuses: number[] = []
      for (let sent = 0; sent < count; sent += 1) statuses.push(await attempt(...given))
      return statuses.filter((status) => status === 429).length
    }
    // A right password costs nothing, whatever the spelling.
    expect(await attempts(10, 'ann@app.example', 'right')).toBe(0)
    expect(await attempts(4, 'ann@app.example')).toBe(0)
    expect(await attempts(3, ' ANN@App.example ')).toBe(2)
    // Unknown e-mails count alike, from the same address and from others.
    expect(await attempts(7, 'nobody@app.example')).toBe(2)
    for (let address = 1; address <= 3; address += 1) {
      expect(await attempts(5, 'ann@app.example', 'wrong', `198.51.100.${address}`)).toBe(0)
    }
    expect(await attempt('ann@app.example', 'right', '198.51.100.9')).toBe(429)
    expect(await attempt('bob@app.example', 'right', '198.51.100.9')).toBe(200)
    expect(tried.length).toBeGreaterThan(0)
    for (const body of ['no JSON', '"no object"', 'null', '{}', '{"email":1,"password":true}']) {
      const headers = { 'x-real-ip': `203.0.113.${body.length}` }
      const request = new Request('https://app.example/login', { method: 'POST', headers, body })
      expect([body, (await handler(request)).status]).toEqual([body, 401])
    }
    tried.length = 0
    const email = 'ann@app.example'.padStart(4_097)
    const tooLong = post('/login', { email, password: 'right' }, { 'x-real-ip': '203.0.113.1' })
    expect([(await handler(tooLong)).status, tried]).toEqual([401, ['']])
  })

  it('reads no more than the start of a body that does not end', async () => {
    vi.stubEnv('EMAIL_SECRET', 'a secret of at least thirty-two bytes')
    own('users.ts', { isRight: async () => false })
    const page = 'recipes/logins.md'
    const { handler } = await importBlock<{ handler: Handler }>(folder, page, 'logins.ts')
    let chunks = 0
    const body = new ReadableStream({
      pull(controller) {
        chunks += 1
        if (chunks === 100) controller.error(new Error('The body is read on.'))
        else controller.enqueue(new Uint8Array(1_000).fill(32))
      },
    })
    const headers = { 'x-real-ip': '203.0.113.2' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    expect((await handler(new Request('https://app.example/login', init))).status).toBe(401)
    expect(chunks).toBeLessThan(20)
  })

  it('does not start without its secret', async () => {
    vi.stubEnv('EMAIL_SECRET', undefined)
    writeFileSync(join(folder, 'no-secret.ts'), readBlock('recipes/logins.md', 'logins.ts'))
    await expect(import(join(folder, 'no-secret.ts'))).rejects.toThrow('EMAIL_SECRET is missing')
  })
})

describe('Express without a proxy', () => {
  it('counts by the address of the connection, not by a header', async () => {
    const { byConnection } = await importBlock<{
      byConnection: (request: Request, req: Partial<ExpressRequest>) => object | null
    }>(folder, 'start/express.md', 'by-connection.ts')
    const subjectOf = (remoteAddress?: string) =>
      byConnection(
        new Request('http://app.example/', { headers: { 'x-forwarded-for': '203.0.113.9' } }),
        { socket: { remoteAddress } as ExpressRequest['socket'] },
      )
    expect(subjectOf('192.0.2.7')).toEqual({ address: '192.0.2.7' })
    expect(subjectOf('::ffff:192.0.2.7')).toEqual({ address: '192.0.2.7' })
    expect(subjectOf('2001:db8::1')).toEqual(subjectOf('2001:db8::2'))
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    expect(subjectOf()).toBe(null)
    warn.mockRestore()
  })
})
