import type { NextConfig } from 'next'

const headers = [
  { key: 'x-content-type-options', value: 'nosniff' },
  { key: 'x-frame-options', value: 'DENY' },
  { key: 'referrer-policy', value: 'no-referrer' },
  { key: 'cross-origin-opener-policy', value: 'same-origin' },
  {
    key: 'permissions-policy',
    value: 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  },
]
// The pages have a policy with a nonce, from the middleware; nothing else needs scripts.
const noScripts = {
  key: 'content-security-policy',
  value: "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

const config: NextConfig = {
  poweredByHeader: false,
  headers: async () => [
    { source: '/:path*', headers },
    { source: '/:path((?!(?:dashboard|overspend)$).+)', headers: [noScripts] },
  ],
  // Next.js keeps a copy of each body that passes the middleware. A route refuses one of this size.
  experimental: { proxyClientMaxBodySize: '256kb' },
}

export default config
