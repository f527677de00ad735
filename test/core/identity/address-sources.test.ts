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

/** The warnings of a bypassed Cloudflare that come of these requests. */
function warnings(requests: readonly Request[]): unknown[] {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const resolve = addressSubject({ from: 'cloudflare' })
  for (const request of requests) resolve(request)
  return warn.mock.calls.flat().filter((text) => String(text).includes('CF-Ray'))
}

describe('a CF-Connecting-IP not written by Cloudflare', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('causes one warning, with what to do and without the address', () => {
    const [warning, ...others] = warnings([withAddress(), withAddress()])
    expect(others).toEqual([])
    expect(warning).toMatch(/^Sluice: addressSubject\.from is "cloudflare", but .*CF-Ray/)
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

/** A request to the machine itself, as in development. */
const toLocalhost = (
  url = 'http://localhost:3000/',
  headers: Record<string, string> = {},
): Request => new Request(url, { headers })

describe('a request without an address', () => {
  afterEach(() => void vi.restoreAllMocks())

  it.each([
    ['cloudflare', 'CF-Connecting-IP'],
    ['vercel', 'X-Vercel-Forwarded-For or X-Real-IP'],
    [2, 'X-Forwarded-For (entry 2 from the right)'],
  ] as const)('has one warning that names the header that "from" = %j reads', (source, header) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const resolve = addressSubject({ from: source })
    expect([resolve(toLocalhost()), resolve(toLocalhost())]).toEqual([null, null])
    expect(warn.mock.calls).toHaveLength(1)
    expect(warn.mock.calls[0]?.[0]).toContain(`no address in ${header}`)
    expect(warn.mock.calls[0]?.[0]).toContain('"development"')
  })

  it.each([
    'http://localhost:3000/api',
    'http://app.localhost/',
    'http://127.0.0.1:3000/',
    'http://0.0.0.0:8080/',
    'http://[::1]:3000/',
    'http://[::]/',
  ])('counts as 127.0.0.1 with development: true if it is sent to %s', (url) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const resolve = addressSubject({ from: 'vercel', development: true })
    expect(resolve(toLocalhost(url))).toEqual({ address: '127.0.0.1' })
    expect(warn.mock.calls.flat()).toEqual([expect.stringContaining('counts as 127.0.0.1')])
  })

  it.each([
    'https://app.example/',
    'https://localhost.example/',
    'https://notlocalhost/',
    'http://10.0.0.1/',
  ])('has none with development: true, left on by mistake, if it is sent to %s', (url) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(addressSubject({ from: 'vercel', development: true })(toLocalhost(url))).toBeNull()
  })

  it('keeps an address that it has, and gets none if its own is malformed', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const resolve = addressSubject({ from: 'vercel', development: true })
    const url = 'http://localhost/'
    expect(resolve(toLocalhost(url, { 'x-real-ip': '192.0.2.1' }))).toEqual({
      address: '192.0.2.1',
    })
    expect(resolve(toLocalhost(url, { 'x-real-ip': 'unknown' }))).toBeNull()
  })

  it('has none by default, also in development', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(addressSubject({ from: 'vercel', development: false })(toLocalhost())).toBeNull()
    expect(addressSubject({ from: 'vercel', development: undefined })(toLocalhost())).toBeNull()
  })
})
