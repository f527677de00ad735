import { NextResponse, type NextRequest } from 'next/server'

/**
 * Sends the page with a Content-Security-Policy that allows only its own scripts.
 *
 * Next.js reads the nonce from the request's header and adds it to every script of the page.
 */
export function withContentSecurityPolicy(request: NextRequest): NextResponse {
  const policy = [
    "default-src 'self'",
    `script-src 'nonce-${btoa(crypto.randomUUID())}' 'strict-dynamic'`,
    // The widths of the meters are inline styles, which cannot have a nonce.
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
