import type { ReactNode } from 'react'
import { DemoDashboard } from '../../components/dashboard/demo-dashboard'
import { scenarios } from '../../lib/scenarios'
import { readSource } from '../../lib/scenarios/source'

/** The files that decide in each scenario. */
const LIMITS: Readonly<Record<string, string>> = {
  'runaway-agent': 'lib/limits/chat.ts',
  midnight: 'lib/limits/chat.ts',
  'falling-budget': 'app/api/chat/ladder/route.ts',
}

export default async function Page(): Promise<ReactNode> {
  const shown = scenarios.map(async ({ id, title, story, tenants }) => ({
    id,
    title,
    story,
    tenants,
    traffic: await readSource(`lib/scenarios/${id}.ts`),
    limits: await readSource(LIMITS[id] ?? 'lib/limits/ai-routes.ts'),
  }))
  return <DemoDashboard scenarios={await Promise.all(shown)} />
}
