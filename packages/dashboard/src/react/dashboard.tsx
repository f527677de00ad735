import { useState, type ReactNode } from 'react'
import { Charts } from './charts.tsx'
import { Figures } from './figures.tsx'
import { Findings } from './findings.tsx'
import { Headline } from './headline.tsx'
import { Health } from './health.tsx'
import { Limits } from './limits.tsx'
import { MissingEvents, NoDecision } from './silence.tsx'
import { Problems } from './problems.tsx'
import type { RANGES } from './series.ts'
import { Shadow } from './shadow.tsx'
import { Styles } from './styles.tsx'
import { heaviest, Tenants, type TenantsProps } from './tenants.tsx'
import { useView } from './use-view.ts'
import { Why } from './why.tsx'

/** Props of `Dashboard`. */
export interface DashboardProps {
  /** The address of a `dashboardHandler`. */
  readonly url: string
  /** The tenant to show; `undefined` for all together. Without it, the component keeps the choice itself. */
  readonly tenant?: string | undefined
  /** Called with the tenant that is chosen; `undefined` for all together. */
  readonly onTenant?: (tenant: string | undefined) => void
  /** Shown below the figures, such as buttons of your own. */
  readonly children?: ReactNode
  /** Shown before the first decision. @default the reasons for which none may have arrived */
  readonly empty?: ReactNode
  /** The nonce of styles, if your Content-Security-Policy requires one. */
  readonly nonce?: string
}

/**
 * A live page about limits: the figures, charts over time, tenants, and what is left of each policy.
 *
 * @example
 * <Dashboard url="/api/dashboard" />
 */
export function Dashboard(props: DashboardProps): ReactNode {
  const { url, onTenant, children, empty = <NoDecision />, nonce } = props
  const { view, connection, now } = useView(url)
  const [chosen, setChosen] = useState<string>()
  const [range, setRange] = useState<keyof typeof RANGES>('minute')
  const wanted = 'tenant' in props ? props.tenant : chosen
  const known = view?.tenants.find(({ tenant }) => tenant === wanted)
  // Before the first one there is nothing to draw.
  const hasDecisions = view !== undefined && view.store.state !== 'unknown'
  const choose = (tenant: string | undefined): void => {
    setChosen(tenant)
    onTenant?.(tenant)
  }
  return (
    <div className="sluice">
      <Styles nonce={nonce} />
      <div className="sluice-bar">
        <Health connection={connection} view={view} now={now} />
        <TenantChoice view={view} tenant={wanted} onTenant={choose} />
        <label>
          Time
          <select
            value={range}
            onChange={(event) => setRange(event.target.value as keyof typeof RANGES)}
          >
            <option value="minute">Last minute</option>
            <option value="minutes">Last 5 minutes</option>
            <option value="hours">Last 3 hours</option>
          </select>
        </label>
      </div>
      {view?.store.state === 'unknown' && empty}
      <MissingEvents view={view} />
      {hasDecisions && (
        <>
          <Headline view={view} tenant={wanted} now={now} range={range} />
          <Figures view={view} tenant={wanted} now={now} />
        </>
      )}
      {children}
      {hasDecisions && (
        <>
          <Charts view={view} tenant={wanted} now={now} range={range} />
          <div className="sluice-columns">
            <div className="sluice-stack">
              <Tenants view={view} tenant={wanted} onTenant={choose} now={now} />
              <Findings view={view} />
            </div>
            <div className="sluice-stack">
              <Limits tenant={known ?? heaviest(view?.tenants)[0]} now={now} />
            </div>
          </div>
        </>
      )}
      {view && <Why key={wanted} url={url} tenants={view.tenants} tenant={wanted} />}
      <Shadow view={view} />
      <Problems view={view} />
    </div>
  )
}

function TenantChoice({ view, tenant, onTenant }: Omit<TenantsProps, 'now'>): ReactNode {
  const names = new Set(view?.tenants.map((one) => one.tenant))
  if (tenant !== undefined) names.add(tenant)
  return (
    <label>
      Tenant
      <select value={tenant ?? ''} onChange={(event) => onTenant(event.target.value || undefined)}>
        <option value="">All tenants</option>
        {[...names].toSorted().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
