import type { Metadata } from 'next'
import Link from 'next/link'
import type { ReactNode } from 'react'
import './globals.css'

export const metadata: Metadata = {
  title: 'Sluice demo',
  description: 'Send traffic to AI routes and watch the limits hold.',
}

/** Renders the page for each request, because the nonce of its scripts is new each time. */
export const dynamic = 'force-dynamic'

export default function Layout({ children }: { children: ReactNode }): ReactNode {
  return (
    <html lang="en">
      <body>
        <header className="top">
          <strong>Sluice</strong>
          <nav aria-label="Pages">
            <Link href="/dashboard">Dashboard</Link>
            <Link href="/overspend">200 streams on $1.00</Link>
            <a href="/docs/getting-started.md">Docs</a>
          </nav>
          <p>
            Sluice limits what each tenant of your app may use of AI: requests, tokens and dollars,
            exactly, at the edge.
          </p>
        </header>
        {children}
      </body>
    </html>
  )
}
