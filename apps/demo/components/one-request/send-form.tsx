import { useState, type ReactNode } from 'react'
import { tenants } from '../../lib/auth/tenants'
import { pathOf } from './api'

/** Stands for a client without a JWT. */
export const NO_TENANT = 'nobody'

const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe', 'chat']
const MAX_BURST = 200

interface SendFormProps {
  readonly tenant: string
  readonly onTenant: (tenant: string) => void
  readonly route: string
  readonly onRoute: (route: string) => void
  /** The number of requests that are still to be answered. */
  readonly pending: number
  readonly onSend: (count: number) => void
}

/** Chooses a tenant and a route, and sends one request or a burst. */
export function SendForm(props: SendFormProps): ReactNode {
  const { tenant, onTenant, route, onRoute, pending, onSend } = props
  const [burst, setBurst] = useState(25)
  const isBusy = pending > 0
  return (
    <>
      <label>
        Tenant
        <select value={tenant} onChange={(event) => onTenant(event.target.value)}>
          {tenants.map((option) => (
            <option key={option.tenant} value={option.tenant}>
              {option.tenant} ({option.plan} plan)
            </option>
          ))}
          <option value={NO_TENANT}>nobody (no JWT)</option>
        </select>
      </label>
      <label>
        Route
        <select value={route} onChange={(event) => onRoute(event.target.value)}>
          {ROUTES.map((id) => (
            <option key={id} value={id}>
              {pathOf(id)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Burst
        <input
          type="number"
          min={1}
          max={MAX_BURST}
          value={burst}
          onChange={(event) => setBurst(clamp(event.target.valueAsNumber))}
        />
      </label>
      <div className="buttons">
        <button type="button" disabled={isBusy} onClick={() => onSend(1)}>
          Send one
        </button>
        <button type="button" className="primary" disabled={isBusy} onClick={() => onSend(burst)}>
          {isBusy ? `Waiting for ${pending} …` : `Send a burst of ${burst}`}
        </button>
      </div>
    </>
  )
}

const clamp = (count: number): number => Math.min(MAX_BURST, Math.max(1, Math.trunc(count) || 1))
