import { addressSubject } from '@sluice/core/identity'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'

const from = (source: 'cloudflare' | 'vercel' | number, headers: Record<string, string>) =>
  addressSubject({ from: source })(new Request('https://app.example/', { headers }))

describe('the source of the address', () => {
  it.each([
    [1, '198.51.100.1', '198.51.100.1'],
    [1, '203.0.113.66, 198.51.100.1', '198.51.100.1'],
    [1, ' 203.0.113.66 ,198.51.100.1 ', '198.51.100.1'],
    [2, '203.0.113.66, 198.51.100.1, 192.0.2.1', '198.51.100.1'],
    [2, '"evil", 198.51.100.1:99, 192.0.2.1', '198.51.100.1'],
  ])('with %i trusted proxies, takes from %s the address %s', (proxies, forwarded, address) => {
    expect(from(proxies, { 'x-forwarded-for': forwarded })).toEqual({ address })
  })

  it.each([
    [1, ''],
    [1, '198.51.100.1,'],
    [1, '198.51.100.1, unknown'],
    [2, '198.51.100.1'],
    [3, '203.0.113.66, 198.51.100.1'],
  ])(
    'with %i trusted proxies, finds no subject in %j, which is too short',
    (proxies, forwarded) => {
      expect(from(proxies, { 'x-forwarded-for': forwarded })).toBeNull()
      expect(from(proxies, {})).toBeNull()
    },
  )

  it('ignores addresses that a client puts on the left', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('192.0.2.9', 'x', '', '::1', ',')), (left) => {
        const forwarded = [...left, '198.51.100.1'].join(',')
        expect(from(1, { 'x-forwarded-for': forwarded })).toEqual({ address: '198.51.100.1' })
      }),
      { seed: 7 },
    )
  })

  it('vercel: is its own header, else X-Real-IP, never X-Forwarded-For', () => {
    const own = { 'x-vercel-forwarded-for': '192.0.2.1' }
    const real = { 'x-real-ip': '192.0.2.2' }
    const forwarded = { 'x-forwarded-for': '192.0.2.3' }
    expect(from('vercel', { ...own, ...real, ...forwarded })).toEqual({ address: '192.0.2.1' })
    expect(from('vercel', { ...real, ...forwarded })).toEqual({ address: '192.0.2.2' })
    expect(from('vercel', forwarded)).toBeNull()
  })

  it('cloudflare: is CF-Connecting-IP, and nothing else', () => {
    const others = { 'x-forwarded-for': '192.0.2.3', 'x-real-ip': '192.0.2.2' }
    const own = { 'cf-connecting-ip': '192.0.2.1', 'cf-ray': '8f00000000000000-VIE' }
    expect(from('cloudflare', { ...others, ...own })).toEqual({ address: '192.0.2.1' })
    expect(from('cloudflare', others)).toBeNull()
  })
})

const withAddress = (headers: Record<string, string> = {}, cf?: object): Request =>
  Object.assign(
    new Request('https://app.example/', {
      headers: { 'cf-connecting-ip': '192.0.2.1', ...headers },
    }),
    cf && { cf },
  )

/** The warnings that come of these requests. */
function warnings(requests: readonly Request[]): unknown[] {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const resolve = addressSubject({ from: 'cloudflare' })
  for (const request of requests) resolve(request)
  return warn.mock.calls.flat()
}

describe('a CF-Connecting-IP not written by Cloudflare', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('causes one warning, with what to do and without the address', () => {
    const [warning, ...others] = warnings([withAddress(), withAddress()])
    expect(others).toEqual([])
    expect(warning).toMatch(/^addressSubject\.from is "cloudflare", but .*CF-Ray/)
    expect(warning).not.toContain('192.0.2.1')
  })

  it('causes no warning for a request through Cloudflare, or without an address', () => {
    const proxied = withAddress({ 'cf-ray': '8f00000000000000-VIE' })
    const inWorker = withAddress({}, { colo: 'VIE' })
    const without = new Request('https://app.example/')
    expect(warnings([proxied, inWorker, without])).toEqual([])
  })

  it('causes no warning on another platform, or with proxies of your own', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    from('vercel', { 'cf-connecting-ip': '192.0.2.1', 'x-real-ip': '192.0.2.2' })
    from(1, { 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '192.0.2.2' })
    expect(warn).not.toHaveBeenCalled()
  })
})
