import type { Metadata } from 'next'
import type { ReactNode } from 'react'
import './globals.css'

export const metadata: Metadata = {
  title: 'Sluice demo',
  description: 'Send traffic to four AI routes and watch the limits hold.',
}

/** Renders the page for each request, because the nonce of its scripts is new each time. */
export const dynamic = 'force-dynamic'

export default function Layout({ children }: { children: ReactNode }): ReactNode {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
