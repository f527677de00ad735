'use client'

import { Dashboard } from '@sluice/dashboard/react'
import { useState, type ReactNode } from 'react'
import { OneRequest } from '../one-request/one-request'
import { Scenarios } from '../scenarios/scenarios'
import type { ShownScenario } from '../scenarios/shown-scenario'

/** The dashboard of the demo: scenarios to watch, and one request in detail. */
export function DemoDashboard({ scenarios }: { scenarios: readonly ShownScenario[] }): ReactNode {
  const [tenant, setTenant] = useState<string>()
  return (
    <main>
      <h1 className="title">AI routes on a budget, live</h1>
      <Dashboard url="/api/dashboard" tenant={tenant} onTenant={setTenant} empty={null}>
        <Scenarios scenarios={scenarios} onTenant={setTenant} />
      </Dashboard>
      <OneRequest />
    </main>
  )
}
