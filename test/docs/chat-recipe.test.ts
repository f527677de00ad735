import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { expect, it, vi } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'

const PAGE = 'recipes/chat.md'

it('the browser is told how many dollars of the day are left', async () => {
  const folder = await pageFolder('chat-recipe')
  writeFileSync(
    join(folder, 'auth.ts'),
    `export const tenantFromJwt = ({ headers }: Request) => {
      const tenant = headers.get('authorization')?.slice('Bearer '.length)
      return tenant ? { tenant } : null
    }`,
  )
  writeFileSync(join(folder, 'chat.ts'), patient(readBlock(PAGE, 'chat.ts'), freshPrefix()))
  const { limiter } = (await import(join(folder, 'chat.ts'))) as { limiter: Limiter }
  const { GET } = await importBlock<{ GET: (request: Request) => Promise<Response> }>(
    folder,
    PAGE,
    'left.ts',
  )
  const { leftToday } = await importBlock<{ leftToday: (jwt: string) => Promise<string> }>(
    folder,
    PAGE,
    'browser.ts',
  )
  const { fetch } = globalThis
  let isDown = false
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) => {
    if (url === '/api/left') return GET(new Request('https://app.example/api/left', init))
    return isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init)
  })

  expect(await leftToday('acme')).toBe('$5.00 left today')
  await limiter.check({ tenant: 'acme' }, { cost: { usd: usd(0.8), call: 0 } })
  expect([await leftToday('acme'), await leftToday('globex')]).toEqual([
    '$4.20 left today',
    '$5.00 left today',
  ])
  await limiter.check({ tenant: 'acme' }, { cost: { usd: usd(4.2), call: 0 } })
  expect(await leftToday('acme')).toBe('$0.00 left today')
  expect([await leftToday(''), (await GET(new Request('https://app.example'))).status]).toEqual([
    '',
    401,
  ])
  isDown = true
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  expect(await leftToday('acme')).toBe('')
  const headers = { authorization: 'Bearer acme' }
  expect((await GET(new Request('https://app.example', { headers }))).status).toBe(503)
  vi.restoreAllMocks()
})
