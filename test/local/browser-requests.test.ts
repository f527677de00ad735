import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { startLocal } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from './client.ts'

const MOZILLA = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'

describe('requests that a browser may have been made to send', () => {
  let server: LocalServer
  let port = ''

  beforeAll(async () => {
    server = await startLocal({
      engine: 'embedded',
      token: 'local',
      allowedHosts: ['redis.internal', 'fd00::1'],
    })
    ;({ port } = new URL(server.url))
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await post(server, '/', ['SET', 'kept', '1'])
  })

  const kept = async (): Promise<unknown> => (await post(server, '/', ['GET', 'kept'])).body

  /** Sends any headers, `Host` and `Origin` included, which `fetch` keeps to itself. */
  async function ask(
    path: string,
    headers: Record<string, string>,
    method = 'GET',
    to = server.url,
  ): Promise<{ status: number | undefined; text: string }> {
    const sent = request(new URL(path, to), { method, headers }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer) text += String(chunk)
    return { status: answer.statusCode, text }
  }
  const bearer = { authorization: 'Bearer local' }

  it.each([
    ['an Origin of another site', { origin: 'https://evil.example' }],
    ['the Origin of a sandboxed frame', { origin: 'null' }],
    ['the Origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['the Origin of a name that begins alike', { origin: 'http://127.0.0.1.evil.example' }],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
  ])('does not run a command with %s', async (_, headers) => {
    const paths = ['/flushall?_token=local', '/flushall']
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        const answer = await ask(path, { ...bearer, ...headers }, method)
        expect(answer.status).toBe(403)
        expect(answer.text).toContain('page of another site')
      }
    }
    expect(await kept()).toEqual({ result: '1' })
  })

  it.each([
    'evil.example',
    'evil.example:8079',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    'user@localhost',
    'localhost, evil.example',
  ])('does not run a command for the Host "%s"', async (host) => {
    const answer = await ask('/flushall', { ...bearer, host })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('allowedHosts')
    expect(answer.text).toContain('--allow-host')
    expect(await kept()).toEqual({ result: '1' })
  })

  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '[::1]', 'redis.internal', '[fd00::1]'])(
    'answers to the Host "%s", with a port or without',
    async (name) => {
      for (const host of [name, `${name}:${port}`, `${name}:80`]) {
        expect(await ask('/get/kept', { ...bearer, host })).toMatchObject({ status: 200 })
      }
    },
  )

  it('accepts an address as its Host if it listens on all of them, but no name', async () => {
    await using open = await startLocal({ engine: 'embedded', host: '0.0.0.0', token: 'local' })
    const to = open.url.replace('0.0.0.0', '127.0.0.1')
    const get = (host: string) => ask('/get/a', { ...bearer, host }, 'GET', to)
    expect(await get('192.168.1.20:8079')).toMatchObject({ status: 200 })
    expect(await get('[fe80::1]:8079')).toMatchObject({ status: 200 })
    expect(await get('evil.example')).toMatchObject({ status: 403 })
  })

  it('accepts a token in the query from programs, but not from browsers', async () => {
    expect(await ask('/get/kept?_token=local', {})).toMatchObject({ status: 200 })
    const signs = [
      { 'user-agent': MOZILLA },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-origin' },
      { origin: `http://127.0.0.1:${port}` },
    ]
    for (const headers of signs) {
      const answer = await ask('/flushall?_token=local', headers)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('Authorization: Bearer')
    }
    expect(await kept()).toEqual({ result: '1' })
  })

  it('answers its own origin, and any client with the token in the header', async () => {
    const own = { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' }
    expect(await ask('/get/kept', { ...bearer, ...own })).toMatchObject({ status: 200 })
    const typed = { 'sec-fetch-site': 'none', 'user-agent': MOZILLA }
    expect(await ask('/get/kept', { ...bearer, ...typed })).toMatchObject({ status: 200 })
  })

  it('reveals nothing about the token to a page of another site', async () => {
    const answers = await Promise.all(
      ['local', 'wrong'].map((token) =>
        ask('/ping', { authorization: `Bearer ${token}`, origin: 'https://evil.example' }),
      ),
    )
    expect(answers[0]).toEqual(answers[1])
  })
})
