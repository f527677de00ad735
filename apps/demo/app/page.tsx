'use client'

import { useState, type ReactNode } from 'react'
import { Chat } from '../components/chat/chat'
import { fetchToken, send, type Answer } from '../components/console/api'
import { Answers } from '../components/console/answers'
import { Budgets } from '../components/console/budgets'
import { SendForm } from '../components/console/send-form'
import { NO_TENANT, useBudgets } from '../components/console/use-budgets'

const SHOWN_ANSWERS = 200
/** The number of connections that a browser opens to one host. More requests would wait in it. */
const CONNECTIONS = 6

export default function Page(): ReactNode {
  const [tenant, setTenant] = useState('starter-1')
  const [route, setRoute] = useState('evaluate')
  const [pending, setPending] = useState(0)
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const { budgets, ageMs, refresh } = useBudgets(tenant, route)
  const hasToken = tenant !== NO_TENANT

  async function sendMany(count: number): Promise<void> {
    setPending(count)
    const token = hasToken ? await fetchToken(tenant).catch(() => undefined) : undefined
    let left = count
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        const answer = await send(route, token)
        setAnswers((shown) => [answer, ...shown].slice(0, SHOWN_ANSWERS))
        setPending((waiting) => waiting - 1)
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, worker))
    setPending(0)
    await refresh().catch(() => undefined)
  }

  return (
    <main>
      <header>
        <h1>Sluice</h1>
        <p>
          Four AI routes behind one limiter, and a chat on a budget. Send traffic to them as any
          tenant, and watch the limits hold.
        </p>
      </header>

      <div className="columns">
        <section className="card" aria-labelledby="send">
          <h2 id="send">Send</h2>
          <SendForm
            tenant={tenant}
            onTenant={setTenant}
            route={route}
            onRoute={setRoute}
            pending={pending}
            onSend={(count) => void sendMany(count)}
          />
          <h2>What is left</h2>
          <Budgets budgets={budgets} ageMs={ageMs} hasToken={hasToken} />
        </section>

        <section className="card" aria-labelledby="answers">
          <div className="title">
            <h2 id="answers">Answers</h2>
            <button type="button" disabled={answers.length === 0} onClick={() => setAnswers([])}>
              Clear
            </button>
          </div>
          <Answers answers={answers} />
        </section>
      </div>

      <Chat />
    </main>
  )
}
