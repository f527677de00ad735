import { NextResponse, type NextRequest } from 'next/server'

/**
 * Sends the page with a Content-Security-Policy that allows its own scripts only.
 *
 * Next.js reads the nonce from the request's header, and puts it on every script that it writes.
 */
export function withPagePolicy(request: NextRequest): NextResponse {
  const policy = [
    "default-src 'self'",
    `script-src 'nonce-${btoa(crypto.randomUUID())}' 'strict-dynamic'`,
    // The meters' widths are styles of elements, which cannot have a nonce.
    "style-src 'self' 'unsafe-inline'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', policy)
  return response
}
