import type { ReactNode } from 'react'
import type { View } from '../view.ts'
import { countOf } from './words.ts'

/** The number of events that have not arrived. Nothing if there are none. */
export function MissingEvents({ view }: { readonly view: View | undefined }): ReactNode {
  const missing = view?.missing ?? 0
  if (missing === 0) return null
  return (
    <p className="sluice-card" role="status">
      {missing === 1 ? 'One event' : `${countOf(missing)} events`} of other processes{' '}
      {missing === 1 ? 'is' : 'are'} missing: the figures lack them until they arrive.
    </p>
  )
}

/** The reasons for which a page gets no data, and their remedies. */
export function NoDecision(): ReactNode {
  return (
    <section className="sluice-card" aria-labelledby="sluice-no-decision">
      {/* No heading: it comes before those of the page's own parts. */}
      <p id="sluice-no-decision">
        <strong>No decision has reached this page yet</strong>
      </p>
      <p className="sluice-hint">If requests have been limited:</p>
      <ul className="sluice-hint">
        <li>
          the limiter needs <code>dashboard.watch()</code> among its <code>extensions</code>;
        </li>
        <li>
          in <code>proxy.ts</code> of Next.js, the dashboard needs a name:{' '}
          <code>{"createDashboard({ name: 'app' })"}</code>, because routes load its module again;
        </li>
        <li>
          in another process, such as edge middleware, a Worker, or the app that{' '}
          <code>sluice dev</code> has started, it needs <code>relay()</code> of{' '}
          <code>@sluice/dashboard/relay</code> instead, with the address and key of this page&apos;s
          handler in <code>SLUICE_DASHBOARD_URL</code> and <code>SLUICE_DASHBOARD_KEY</code>, which{' '}
          <code>sluice dev</code> sets.
        </li>
      </ul>
    </section>
  )
}
