import { NextResponse } from 'next/server'

export const proxy = (): Response => NextResponse.next()

export const config = { matcher: ['/api/ai/:path*'] }
