import { addressSubject } from '@sluice/core/identity'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { spellings } from './address-spellings.ts'

const onCloudflare = addressSubject({ from: 'cloudflare' })

/** The dimension `address` that a header value becomes. */
function addressOf(text: string): string | undefined {
  const headers = { 'cf-connecting-ip': text, 'cf-ray': '8f00000000000000-VIE' }
  const found = onCloudflare(new Request('https://app.example/', { headers }))
  return (found as { address: string } | null)?.address
}

describe('the spelling of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:443', '192.0.2.7'],
    [' 192.0.2.7 ', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:0207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:c000:207', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:443', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '192.0.2.7'],
    ['64:ff9b::c000:207', '192.0.2.7'],
    ['2001:db8:0:7:1:2:3:4', '2001:db8:0:7::/64'],
    ['2001:DB8:0:7::', '2001:db8:0:7::/64'],
    ['2001:0db8:0000:0007:ffff:ffff:ffff:ffff', '2001:db8:0:7::/64'],
    ['[2001:db8:0:7::1]:443', '2001:db8:0:7::/64'],
    ['[2001:db8:0:7::1]', '2001:db8:0:7::/64'],
    ['2001:db8:0:7::1.2.3.4', '2001:db8:0:7::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    // Close to a mapped address or the NAT64 prefix, and neither.
    ['::ffff:0:192.0.2.7', '0:0:0:0::/64'],
    ['64:ff9b:1::192.0.2.7', '64:ff9b:1:0::/64'],
  ])('%s is %s', (text, address) => {
    expect(addressOf(text)).toBe(address)
  })

  it.each([
    '',
    'unknown',
    '_hidden',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.07',
    '0xc0.0.2.7',
    '3221225991',
    '192.0.2.7.',
    '192.0.2.7, 198.51.100.1',
    '192.0.2.7%eth0',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1::2::3',
    ':::',
    ':1:2:3:4:5:6:7',
    '12345::',
    'g::',
    '::1.2.3',
    '1.2.3.4::',
    '1.2.3.4:5:6:7:8:9:a',
    '[::1',
    '::1]',
    '[::1]x',
    `${'0'.repeat(70)}::1`,
    '1'.repeat(1_000_000),
  ])('%.40s is no address, and nobody', (text) => {
    expect(addressOf(text)).toBeUndefined()
  })

  it('is one key for the same bits, another for others', () => {
    const groups = fc.array(
      fc.oneof(fc.constantFrom(0, 0xffff, 1), fc.integer({ min: 0, max: 0xffff })),
      {
        minLength: 8,
        maxLength: 8,
      },
    )
    fc.assert(
      fc.property(groups, groups, fc.integer({ min: 1, max: 3 }), (a, b, differing) => {
        // Pairs that share a prefix are the ones worth comparing.
        const close = [...a.slice(0, differing), ...b.slice(differing)]
        const keys = [a, b, close].map((address) => spellings(address).map(addressOf))
        for (const same of keys) expect(new Set(same).size).toBe(1)
        for (const [index, one] of [a, b, close].entries())
          for (const [other, two] of [a, b, close].entries())
            expect(keys[index]?.[0] === keys[other]?.[0]).toBe(partition(one) === partition(two))
      }),
      { seed: 64, numRuns: 500 },
    )
  })

  it('is the same for an IPv4 address and the IPv6 address it is mapped to', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 }),
        (ip) => {
          const [a = 0, b = 0, c = 0, d = 0] = ip
          const text = ip.join('.')
          const mapped = spellings([0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d])
          const nat64 = spellings([0x64, 0xff9b, 0, 0, 0, 0, a * 256 + b, c * 256 + d])
          expect(new Set([text, `${text}:8080`, ...mapped, ...nat64].map(addressOf))).toEqual(
            new Set([text]),
          )
        },
      ),
      { seed: 4, numRuns: 300 },
    )
  })
})

/** The bits that count: all of an IPv4 address, 64 of an IPv6 address. */
function partition(groups: readonly number[]): string {
  const [head, tail] = [groups.slice(0, 6).join(), groups.slice(6).join()]
  const isIpv4 = head === '0,0,0,0,0,65535' || head === '100,65435,0,0,0,0'
  return isIpv4 ? tail : groups.slice(0, 4).join()
}

const from = (source: 'cloudflare' | 'vercel' | number, headers: Record<string, string>) =>
  addressSubject({ from: source })(new Request('https://app.example/', { headers }))

describe('where the address is taken from', () => {
  it.each([
    [1, '198.51.100.1', '198.51.100.1'],
    [1, '203.0.113.66, 198.51.100.1', '198.51.100.1'],
    [1, ' 203.0.113.66 ,198.51.100.1 ', '198.51.100.1'],
    [2, '203.0.113.66, 198.51.100.1, 192.0.2.1', '198.51.100.1'],
    [2, '"evil", 198.51.100.1:99, 192.0.2.1', '198.51.100.1'],
  ])('%i trusted: of %s it is %s', (proxies, forwarded, address) => {
    expect(from(proxies, { 'x-forwarded-for': forwarded })).toEqual({ address })
  })

  it.each([
    [1, ''],
    [1, '198.51.100.1,'],
    [1, '198.51.100.1, unknown'],
    [2, '198.51.100.1'],
    [3, '203.0.113.66, 198.51.100.1'],
  ])('%i trusted: %j has too little, and the request is nobody’s', (proxies, forwarded) => {
    expect(from(proxies, { 'x-forwarded-for': forwarded })).toBeNull()
    expect(from(proxies, {})).toBeNull()
  })

  it('what a client puts on the left changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('192.0.2.9', 'x', '', '::1', ',')), (left) => {
        const forwarded = [...left, '198.51.100.1'].join(',')
        expect(from(1, { 'x-forwarded-for': forwarded })).toEqual({ address: '198.51.100.1' })
      }),
      { seed: 7 },
    )
  })

  it('vercel: its own header, else X-Real-IP, never X-Forwarded-For', () => {
    const own = { 'x-vercel-forwarded-for': '192.0.2.1' }
    const real = { 'x-real-ip': '192.0.2.2' }
    const forwarded = { 'x-forwarded-for': '192.0.2.3' }
    expect(from('vercel', { ...own, ...real, ...forwarded })).toEqual({ address: '192.0.2.1' })
    expect(from('vercel', { ...real, ...forwarded })).toEqual({ address: '192.0.2.2' })
    expect(from('vercel', forwarded)).toBeNull()
  })

  it('cloudflare: CF-Connecting-IP, and nothing else', () => {
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

describe('CF-Connecting-IP that Cloudflare has not written', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('is warned of once, with what to do, and without the address', () => {
    const [warning, ...others] = warnings([withAddress(), withAddress()])
    expect(others).toEqual([])
    expect(warning).toMatch(/^addressSubject\.from is "cloudflare", but .*CF-Ray/)
    expect(warning).not.toContain('192.0.2.1')
  })

  it('does not warn of a request that has been through Cloudflare, or has no address', () => {
    const proxied = withAddress({ 'cf-ray': '8f00000000000000-VIE' })
    const inWorker = withAddress({}, { colo: 'VIE' })
    const without = new Request('https://app.example/')
    expect(warnings([proxied, inWorker, without])).toEqual([])
  })

  it('does not warn of another platform’s request, or of proxies of yours', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    from('vercel', { 'cf-connecting-ip': '192.0.2.1', 'x-real-ip': '192.0.2.2' })
    from(1, { 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '192.0.2.2' })
    expect(warn).not.toHaveBeenCalled()
  })
})
