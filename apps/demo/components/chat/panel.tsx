import { useRef, useState, type FormEvent, type ReactNode } from 'react'
import { runAway, type AgentReport } from './agent'
import { AgentTold } from './agent-report'
import { ask, type Outcome } from './api'
import { Meters } from './meters'
import { useLimits } from './use-limits'

interface PanelProps {
  readonly tenant: string
  /** Who is asked whether it still works when this one's agent is stopped. */
  readonly neighbour: string
}

/** One tenant's chat, and what is left of its limits while it speaks. */
export function Panel({ tenant, neighbour }: PanelProps): ReactNode {
  const [prompt, setPrompt] = useState('What is a budget?')
  const [said, setSaid] = useState('')
  const [told, setTold] = useState('')
  const [agent, setAgent] = useState<AgentReport>()
  const [other, setOther] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const running = useRef<AbortController>(undefined)
  const { limits, watch } = useLimits(tenant)

  /** Does some work with the meters running and the Stop button armed. */
  async function busy(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    running.current = new AbortController()
    const { signal } = running.current
    setBusy(true)
    setTold('')
    try {
      await watch(() => work(signal))
    } catch {
      setTold(signal.aborted ? 'Stopped: only what was said is charged.' : 'No answer came.')
    }
    setBusy(false)
  }

  function send(event: FormEvent): void {
    event.preventDefault()
    void busy(async (signal) => {
      setSaid('')
      const onText = (text: string): void => setSaid((before) => before + text)
      setTold(outcomeOf(await ask(tenant, prompt, { onText, signal })))
    })
  }

  function letLoose(): void {
    void busy(async (signal) => {
      setOther(undefined)
      const { end } = await runAway(() => ask(tenant, prompt, { signal }), setAgent, signal)
      if (end !== 'budget') return
      const { status } = await ask(neighbour, prompt, { maxTokens: 10 })
      setOther(`${neighbour} ${status === 200 ? 'still works' : `was refused (${status})`}.`)
    })
  }

  return (
    <section className="card" aria-labelledby={`chat-${tenant}`}>
      <h3 id={`chat-${tenant}`}>{tenant}</h3>
      <Meters tenant={tenant} limits={limits} />
      <form onSubmit={send}>
        <label>
          Message
          <input value={prompt} required onChange={(event) => setPrompt(event.target.value)} />
        </label>
        <div className="buttons">
          <button type="submit" className="primary" disabled={isBusy}>
            Ask
          </button>
          <button type="button" disabled={isBusy} onClick={letLoose}>
            Runaway agent
          </button>
          <button type="button" disabled={!isBusy} onClick={() => running.current?.abort()}>
            Stop
          </button>
        </div>
      </form>
      {agent && <AgentTold report={agent} limits={limits} other={other} />}
      <p className="said" aria-live="polite" aria-busy={isBusy} aria-label={`Answer to ${tenant}`}>
        {said || 'Ask something, and watch the dollars go down by the most that it may cost.'}
      </p>
      <p className="hint">{told}</p>
    </section>
  )
}

const outcomeOf = ({ status, tokens, code, message }: Outcome): string =>
  status === 200 ? `${tokens ?? '?'} tokens used.` : `${status} ${code ?? ''}: ${message ?? ''}`
