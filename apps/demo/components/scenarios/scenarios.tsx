import { useRef, useState, type ReactNode } from 'react'
import type { ShownScenario } from './shown-scenario'
import { reset, run } from './api'
import { Code } from './code'

interface ScenariosProps {
  readonly scenarios: readonly ShownScenario[]
  /** Called with the tenant that a scenario is about, or with none after a reset. */
  readonly onTenant: (tenant: string | undefined) => void
}

/** The run in which the demo starts over. No scenario has this id. */
const RESET = 'reset'

/** Buttons that run a scenario on the server, as often as you like, and the code behind it. */
export function Scenarios({ scenarios, onTenant }: ScenariosProps): ReactNode {
  const [chosen, setChosen] = useState(scenarios[0])
  const [running, setRunning] = useState<string>()
  const [status, setStatus] = useState('')
  const abort = useRef<AbortController>(undefined)

  async function start(scenario: ShownScenario): Promise<void> {
    abort.current = new AbortController()
    setChosen(scenario)
    setRunning(scenario.id)
    setStatus(`${scenario.title} is running …`)
    onTenant(scenario.tenants[0])
    setStatus(await run(scenario, abort.current.signal))
    setRunning(undefined)
  }

  async function startOver(): Promise<void> {
    setRunning(RESET)
    setStatus('Starting over …')
    onTenant(undefined)
    setStatus(await reset())
    setRunning(undefined)
  }

  return (
    <section className="card scenarios" aria-labelledby="scenarios">
      <div className="scenario-head">
        <h2 id="scenarios">Run a scenario</h2>
        <p className="hint" role="status">
          {status || (
            <>
              <strong>Press “{scenarios[0]?.title}”.</strong> Each button sends real requests to
              this demo, with limits that begin whole.
            </>
          )}
        </p>
        <div>
          <button
            type="button"
            disabled={!running || running === RESET}
            onClick={() => abort.current?.abort()}
          >
            Stop
          </button>
          <button type="button" disabled={running !== undefined} onClick={() => void startOver()}>
            Start over
          </button>
        </div>
      </div>
      <div className="scenario-buttons">
        {scenarios.map((scenario) => (
          <button
            key={scenario.id}
            type="button"
            className={scenario.id === chosen?.id ? 'primary' : ''}
            disabled={running !== undefined}
            onClick={() => void start(scenario)}
          >
            {scenario.title}
          </button>
        ))}
      </div>
      {chosen && <Code key={chosen.id} scenario={chosen} />}
    </section>
  )
}
