import type { Metadata } from 'next'
import type { ReactNode } from 'react'
import './globals.css'

export const metadata: Metadata = {
  title: 'Sluice demo',
  description: 'Fire traffic at four AI routes and watch the limits hold.',
}

/** Rendered for each request, because each has a nonce of its own for the page's scripts. */
export const dynamic = 'force-dynamic'

export default function Layout({ children }: { children: ReactNode }): ReactNode {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
