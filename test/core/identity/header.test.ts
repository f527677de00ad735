import { apiKeySubject, headerSubject } from '@sluice/core/identity'
import { describe, expect, it, vi } from 'vitest'
import { guarded, textOf } from './support.ts'

describe('headerSubject', () => {
  const subject = headerSubject({ header: 'X-Project-ID', dimension: 'project' })

  it('takes the dimension from the header', () => {
    const headers = { 'x-project-id': ' p-17 ' }
    expect(subject(new Request('https://app.example/', { headers }))).toEqual({ project: 'p-17' })
  })

  it.each<Record<string, string>>([{}, { 'x-project-id': '' }, { 'x-project-id': ' \t ' }])(
    'answers 400 to %j, and nothing is charged',
    async (headers) => {
      const { ask, charged } = guarded(subject)
      const answer = await ask(headers)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toEqual({
        error: 'missing_header',
        message: 'X-Project-ID is required.',
      })
      expect(await charged()).toBe(0)
    },
  )

  it('takes any text unchanged, as it never stands in an answer', async () => {
    const { ask, charged } = guarded(subject)
    const answer = await textOf(await ask({ 'x-project-id': 'caf\u00e9:{a}%0d%0a"\\' }))
    expect(answer).toMatch(/^\[200,/)
    expect(answer).not.toContain('caf')
    expect(await charged()).toBe(1)
  })
})

describe('apiKeySubject', () => {
  const lookup = vi.fn<(key: string) => { tenant: string } | null>((key) =>
    key === 'key-1' ? { tenant: 'acme' } : null,
  )
  const bearer = guarded(apiKeySubject({ lookup }))
  const own = guarded(apiKeySubject({ header: 'X-API-Key', lookup }))

  it('finds the owner of a key', async () => {
    expect((await bearer.ask({ authorization: 'Bearer key-1' })).status).toBe(200)
    expect((await bearer.ask({ authorization: 'bearer   key-1' })).status).toBe(200)
    expect((await own.ask({ 'x-api-key': 'key-1' })).status).toBe(200)
  })

  it.each<Record<string, string>>([
    {},
    { authorization: 'key-1' },
    { authorization: 'Basic key-1' },
    { authorization: 'Bearer key-2' },
    { authorization: 'Bearer key-1 key-1' },
    { 'x-api-key': 'key-1' },
  ])('answers 401 to %j', async (headers) => {
    expect((await bearer.ask(headers)).status).toBe(401)
  })

  it('does not look up text that is too long to be a key', async () => {
    lookup.mockClear()
    expect((await own.ask({ 'x-api-key': 'k'.repeat(513) })).status).toBe(401)
    expect((await own.ask({ 'x-api-key': 'k'.repeat(1_048_576) })).status).toBe(401)
    expect(lookup).not.toHaveBeenCalled()
  })

  it('repeats no key', async () => {
    expect(await textOf(await own.ask({ 'x-api-key': 'key-3' }))).not.toContain('key-3')
  })

  it('fails as the lookup fails', async () => {
    const failing = guarded(
      apiKeySubject({ lookup: () => Promise.reject(new Error('no database')) }),
    )
    await expect(failing.ask({ authorization: 'Bearer key-1' })).rejects.toThrow('no database')
  })
})
