import { useState, type ReactNode } from 'react'
import { Answers } from './answers'
import { SendForm } from './send-form'
import { useAnswers } from './use-answers'

/** One request or a burst, as any tenant to any AI route, with everything that was answered. */
export function OneRequest(): ReactNode {
  const [tenant, setTenant] = useState('starter-1')
  const [route, setRoute] = useState('evaluate')
  const { answers, pending, sendMany, clear } = useAnswers(tenant, route)
  const hasAnswers = answers.length > 0
  return (
    <div className={hasAnswers ? 'columns' : 'columns alone'}>
      <section className="card" aria-labelledby="send">
        <h2 id="send">Send a request yourself</h2>
        <SendForm
          tenant={tenant}
          onTenant={setTenant}
          route={route}
          onRoute={setRoute}
          pending={pending}
          onSend={(count) => void sendMany(count)}
        />
      </section>
      {hasAnswers && (
        <section className="card" aria-labelledby="answers">
          <div className="card-head">
            <h2 id="answers">Answers, in full detail</h2>
            <button type="button" onClick={clear}>
              Clear
            </button>
          </div>
          <Answers answers={answers} />
        </section>
      )}
    </div>
  )
}
