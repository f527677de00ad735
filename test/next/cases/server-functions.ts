import { beforeAll, describe, expect, it } from 'vitest'
import { canonical, newTenant, type SetUp } from '../support/set-up.ts'

/** Server functions: a POST to a page, as a form sends it or as Next.js' own script does. */
export function describeServerFunctions(setUp: () => SetUp): void {
  describe('a server function of a limited page', () => {
    let id = ''
    beforeAll(async () => {
      const page = await newTenant(setUp(), 'one').ask('/chat', { method: 'GET' })
      id = /\$ACTION_ID_([0-9a-f]+)/.exec(page.body.toString())?.[1] ?? ''
    })

    it('runs on the budget of the page when a form is sent', async () => {
      const tenant = newTenant(setUp(), 'two')
      const statuses: number[] = []
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const body = new FormData()
        body.set(`$ACTION_ID_${id}`, '')
        const response = await fetch(setUp().url + canonical(setUp(), '/chat'), {
          method: 'POST',
          headers: tenant.headers as Record<string, string>,
          body,
        })
        statuses.push(response.status)
      }
      expect(statuses).toEqual([200, 200, 429])
      expect(await tenant.runs()).toBe(2)
    })

    it('runs on the budget of the page when a script calls it', async () => {
      const tenant = newTenant(setUp(), 'two')
      const headers = { 'next-action': id, 'content-type': 'text/plain;charset=UTF-8' }
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await tenant.ask('/chat', { headers, body: '[]' })
      }
      expect(await tenant.runs()).toBe(2)
    })

    it.each([
      '/',
      '/chat.rsc',
      '/CHAT',
      '/%63hat',
      '/chat/',
      '//chat',
      '/chat;x',
      '/chat/x',
      '/none',
    ])('does not run beyond that budget by posting to %s', async (path) => {
      const { basePath } = setUp()
      const headers = { 'next-action': id, 'content-type': 'text/plain;charset=UTF-8' }
      for (const accept of ['text/x-component', 'text/html']) {
        const tenant = newTenant(setUp(), 'one')
        for (let attempt = 0; attempt < 3; attempt += 1) {
          await tenant.send({ path: basePath + path, headers: { ...headers, accept }, body: '[]' })
        }
        expect(await tenant.runs()).toBeLessThanOrEqual(1)
      }
    })

    it('shares its budget with the page in every form that Next.js requests it', async () => {
      const { basePath, trailingSlash } = setUp()
      const forms = [
        { path: canonical(setUp(), '/chat'), headers: {} },
        { path: canonical(setUp(), '/chat'), headers: { rsc: '1' } },
        { path: `${canonical(setUp(), '/chat')}?_rsc=1`, headers: { rsc: '1' } },
        { path: `${basePath}/chat${trailingSlash ? '/index' : ''}.rsc`, headers: { rsc: '1' } },
        { path: `${basePath}/chat.rsc`, headers: {} },
      ]
      for (const { path, headers } of forms) {
        const tenant = newTenant(setUp(), 'one')
        await tenant.ask('/chat', { method: 'GET' })
        const { status, body } = await tenant.send({ method: 'GET', path, headers })
        expect(body.toString(), `${path} ${status}`).not.toContain('Ask')
      }
    })
  })
}
