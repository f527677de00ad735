import type { ReactNode } from 'react'

interface PromptFormProps {
  readonly prompt: string
  readonly onPrompt: (prompt: string) => void
  readonly isBusy: boolean
  readonly onAsk: () => void
  readonly onAgent: () => void
  readonly onStop: () => void
}

/** The message to the model, and the buttons that send it once, by an agent, or stop. */
export function PromptForm(props: PromptFormProps): ReactNode {
  const { prompt, onPrompt, isBusy, onAsk, onAgent, onStop } = props
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onAsk()
      }}
    >
      <label>
        Message
        <input value={prompt} required onChange={(event) => onPrompt(event.target.value)} />
      </label>
      <div className="buttons">
        <button type="submit" className="primary" disabled={isBusy}>
          Ask
        </button>
        <button type="button" disabled={isBusy} onClick={onAgent}>
          Runaway agent
        </button>
        <button type="button" disabled={!isBusy} onClick={onStop}>
          Stop
        </button>
      </div>
    </form>
  )
}
