import { useState, type FormEvent, type ReactNode } from 'react'
import type { TenantView } from '../view.ts'
import type { WhyAnswer, WhyQuestion } from '../why/answer.ts'
import { ask, questionIn } from './question.ts'
import { unitName } from './words.ts'

interface WhyProps {
  /** The address of the handler. */
  readonly url: string
  readonly tenants: readonly TenantView[]
  readonly tenant: string | undefined
}

interface Asked {
  readonly question: WhyQuestion
  readonly answer: WhyAnswer
}

/** A question about one tenant: what denies it now, or what a recorded denial was. It asks when its button is pressed. */
export function Why({ url, tenants, tenant = '' }: WhyProps): ReactNode {
  const [asked, setAsked] = useState<Asked>()
  const [text, setText] = useState('')
  const [isAsking, setAsking] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const question = questionIn(form, tenants, asked?.question.tenant)
    setAsking(true)
    setText('Asking …')
    try {
      const received = await ask(url, question)
      if ('text' in received) setAsked({ question, answer: received })
      setText('text' in received ? received.text : received.message)
    } catch {
      setText('The server does not answer. Try again.')
    }
    setAsking(false)
  }

  return (
    <section className="sluice-card" aria-labelledby="sluice-why">
      <h3 id="sluice-why">Why is it denied?</h3>
      <p className="sluice-hint">
        Asks the limiter, and charges nothing: for the cost of its latest recorded denial, or one of
        each unit, unless you say how many. An id is the <code>X-Request-Id</code> of a 429.
      </p>
      <form className="sluice-ask" onSubmit={(event) => void submit(event)}>
        <label>
          Tenant
          <input name="tenant" required defaultValue={tenant} list="sluice-tenant-names" />
        </label>
        <datalist id="sluice-tenant-names">
          {tenants.map((one) => (
            <option key={one.tenant} value={one.tenant} />
          ))}
        </datalist>
        <label>
          Id of a denial
          <input name="id" placeholder="none: now" />
        </label>
        {asked && <Parts key={asked.question.tenant} {...asked} />}
        <button type="submit" disabled={isAsking}>
          Ask
        </button>
      </form>
      <p className="sluice-answer" role="status">
        {text}
      </p>
    </section>
  )
}

/** The inputs for the parts that a question to this limiter may have. */
function Parts({ question, answer }: Asked): ReactNode {
  const { subject = {} } = question
  const { limiter, limiters, dimensions, plans, units } = answer
  return (
    <>
      {limiters.length > 1 && (
        <Choice label="Limiter" name="limiter" options={limiters} value={limiter} />
      )}
      {plans.length > 0 && (
        <Choice label="Plan" name="subject.plan" options={['', ...plans]} value={subject['plan']} />
      )}
      {dimensions.map((name) => (
        <label key={name}>
          {name}
          <input name={`subject.${name}`} defaultValue={subject[name]} />
        </label>
      ))}
      {units.map((unit) => (
        <label key={unit}>
          {unitName(unit)}
          <input
            name={`cost.${unit}`}
            type="number"
            min={0}
            step={unit === 'usd' ? 0.000001 : 1}
            placeholder={unit === 'usd' ? '0.000001' : '1'}
          />
        </label>
      ))}
    </>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly name: string
  readonly options: readonly string[]
  readonly value?: string | undefined
}

const Choice = ({ label, name, options, value }: ChoiceProps): ReactNode => (
  <label>
    {label}
    <select name={name} defaultValue={value}>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  </label>
)
