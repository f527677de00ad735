import type { ReactNode } from 'react'
import { Panel } from './panel'

/** Two tenants side by side: what one spends, the other keeps. */
export function Chat(): ReactNode {
  return (
    <section className="chat" aria-labelledby="chat">
      <h2 id="chat">Chat on a budget</h2>
      <p className="hint">
        Each call holds the most that it may cost while the model speaks, and gives back what it has
        not used. Let an agent run away as one tenant: its budget stops it, and the other goes on.
      </p>
      <div className="panels">
        <Panel tenant="starter-1" neighbour="trial-1" />
        <Panel tenant="trial-1" neighbour="starter-1" />
      </div>
    </section>
  )
}
