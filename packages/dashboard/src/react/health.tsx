import type { ReactNode } from 'react'
import type { StoreView, View } from '../view.ts'
import type { Connection } from './use-view.ts'
import { causeOf, durationOf } from './words.ts'

interface HealthProps {
  readonly connection: Connection
  readonly view: View | undefined
  readonly now: number
}

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: 'Connection lost. Trying again …',
}

/** The state of the page's connection, and of the store that limits are counted in. */
export function Health({ connection, view, now }: HealthProps): ReactNode {
  const store = view?.store
  return (
    <div className="sluice-health">
      <p className={`sluice-state sluice-${connection}`} role="status">
        {CONNECTIONS[connection]}
      </p>
      {store && (
        <p className={`sluice-state sluice-store-${store.state}`} role="status">
          {storeText(store)}
          {/* Not in the status: it would be read out each second. */}
          {store.state === 'failing' && (
            <span aria-hidden> for {durationOf(now - store.since)}</span>
          )}
        </p>
      )}
    </div>
  )
}

function storeText({ state, cause }: StoreView): string {
  if (state === 'failing') return `Store down (${causeOf(cause)}): limits hold in each process`
  return state === 'answering' ? 'Store answers' : 'No request yet'
}
