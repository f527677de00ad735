import type { ReactNode } from 'react'
import { Panel } from './panel'

/** The chats of two tenants side by side, each with its own budget. */
export function Chat(): ReactNode {
  return (
    <section className="chat" aria-labelledby="chat">
      <h2 id="chat">Chat on a budget</h2>
      <p className="hint">
        Each call reserves its maximum cost while the model answers, and gives back what it did not
        use. Start a runaway agent as one tenant: its budget stops it, and the other tenant goes on.
      </p>
      <div className="panels">
        <Panel tenant="starter-1" neighbour="trial-1" />
        <Panel tenant="trial-1" neighbour="starter-1" />
      </div>
    </section>
  )
}
