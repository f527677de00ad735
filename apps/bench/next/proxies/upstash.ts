import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { NextResponse, type NextRequest } from 'next/server'

const limiter = new Ratelimit({
  redis: Redis.fromEnv(),
  limiter: Ratelimit.slidingWindow(1_000_000, '1 h'),
  analytics: false,
})

export async function proxy(request: NextRequest): Promise<Response> {
  const { success, ...state } = await limiter.limit(request.headers.get('x-tenant') ?? '')
  const headers = {
    'x-ratelimit-limit': String(state.limit),
    'x-ratelimit-remaining': String(state.remaining),
    'x-ratelimit-reset': String(state.reset),
  }
  return success
    ? NextResponse.next({ headers })
    : NextResponse.json({ error: 'Too many requests' }, { status: 429, headers })
}

export const config = { matcher: ['/api/ai/:path*'] }
