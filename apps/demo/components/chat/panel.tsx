import { useRef, useState, type ReactNode } from 'react'
import { runAgent, type AgentReport } from './agent'
import { AgentSummary } from './agent-summary'
import { chat, type Outcome } from './api'
import { Meters } from './meters'
import { PromptForm } from './prompt-form'
import { useLimits } from './use-limits'

interface PanelProps {
  readonly tenant: string
  /** The tenant that makes a call after the agent has stopped, to show that it still works. */
  readonly neighbour: string
}

/** The chat of one tenant, and the rest of its limits. */
export function Panel({ tenant, neighbour }: PanelProps): ReactNode {
  const [prompt, setPrompt] = useState('What is a budget?')
  const [answer, setAnswer] = useState('')
  const [hint, setHint] = useState('')
  const [agent, setAgent] = useState<AgentReport>()
  const [neighbourResult, setNeighbourResult] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const running = useRef<AbortController>(undefined)
  const { limits, watch } = useLimits(tenant)

  /** Runs `work` while the meters move and the Stop button can abort it. */
  async function run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    running.current = new AbortController()
    const { signal } = running.current
    setBusy(true)
    setHint('')
    try {
      await watch(() => work(signal))
    } catch {
      setHint(
        signal.aborted ? 'Stopped: only the written part is charged.' : 'There was no answer.',
      )
    }
    setBusy(false)
  }

  function askOnce(): void {
    void run(async (signal) => {
      setAnswer('')
      const onText = (text: string): void => setAnswer((before) => before + text)
      setHint(describeOutcome(await chat(tenant, prompt, { onText, signal })))
    })
  }

  function startAgent(): void {
    void run(async (signal) => {
      setNeighbourResult(undefined)
      const { end } = await runAgent(() => chat(tenant, prompt, { signal }), setAgent, signal)
      if (end !== 'budget') return
      const { status } = await chat(neighbour, prompt, { maxTokens: 10 })
      const result = status === 200 ? 'still works' : `was refused (${status})`
      setNeighbourResult(`${neighbour} ${result}.`)
    })
  }

  return (
    <section className="card" aria-labelledby={`chat-${tenant}`}>
      <h3 id={`chat-${tenant}`}>{tenant}</h3>
      <Meters tenant={tenant} limits={limits} />
      <PromptForm
        prompt={prompt}
        onPrompt={setPrompt}
        isBusy={isBusy}
        onAsk={askOnce}
        onAgent={startAgent}
        onStop={() => running.current?.abort()}
      />
      {agent && <AgentSummary report={agent} limits={limits} neighbourResult={neighbourResult} />}
      <p className="said" aria-live="polite" aria-busy={isBusy} aria-label={`Answer to ${tenant}`}>
        {answer || 'Ask something, and watch the dollars go down by the maximum cost of the call.'}
      </p>
      <p className="hint">{hint}</p>
    </section>
  )
}

const describeOutcome = ({ status, tokens, code, message }: Outcome): string =>
  status === 200 ? `${tokens ?? '?'} tokens used.` : `${status} ${code ?? ''}: ${message ?? ''}`
