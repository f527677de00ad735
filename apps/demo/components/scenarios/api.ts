import type { RunResult } from '../../lib/scenarios/traffic'
import type { ShownScenario } from './shown-scenario'

/** Runs a scenario to its end. Resolves to a sentence about it. */
export async function run(scenario: ShownScenario, signal: AbortSignal): Promise<string> {
  const { id, title } = scenario
  try {
    const response = await fetch(`/api/demo/scenarios/${id}`, { method: 'POST', signal })
    if (!response.ok) return await messageIn(response)
    const { allowed, denied, failed, conclusion } = (await response.json()) as RunResult
    const others = failed > 0 ? `, ${failed} failed` : ''
    const counts = `${allowed + denied + failed} requests, ${allowed} allowed, ${denied} denied${others}`
    return [
      `${title} is over: ${counts}.`,
      ...(conclusion === undefined ? [] : [conclusion]),
      'Run it again, as often as you like.',
    ].join(' ')
  } catch {
    return signal.aborted ? `${title} was stopped.` : 'The demo does not answer.'
  }
}

/** Gives all tenants their budgets back. Resolves to a sentence about it. */
export async function reset(): Promise<string> {
  try {
    const response = await fetch('/api/demo/reset', { method: 'POST' })
    return response.ok ? 'All tenants have their budgets back.' : await messageIn(response)
  } catch {
    return 'The demo does not answer.'
  }
}

async function messageIn(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as { message?: string } | null
  return body?.message ?? `The demo has answered ${response.status}.`
}
