'use client'

import { useState, type ReactNode } from 'react'
import { Chat } from '../components/chat/chat'
import { Answers } from '../components/console/answers'
import { Budgets } from '../components/console/budgets'
import { SendForm } from '../components/console/send-form'
import { useAnswers } from '../components/console/use-answers'
import { NO_TENANT, useBudgets } from '../components/console/use-budgets'
import { Overspend } from '../components/overspend/overspend'

export default function Page(): ReactNode {
  const [tenant, setTenant] = useState('starter-1')
  const [route, setRoute] = useState('evaluate')
  const { budgets, ageMs, refresh } = useBudgets(tenant, route)
  const { answers, pending, sendMany, clear } = useAnswers(tenant, route)

  async function sendAndRefresh(count: number): Promise<void> {
    await sendMany(count)
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
            onSend={(count) => void sendAndRefresh(count)}
          />
          <h2>What is left</h2>
          <Budgets budgets={budgets} ageMs={ageMs} hasToken={tenant !== NO_TENANT} />
        </section>

        <section className="card" aria-labelledby="answers">
          <div className="title">
            <h2 id="answers">Answers</h2>
            <button type="button" disabled={answers.length === 0} onClick={clear}>
              Clear
            </button>
          </div>
          <Answers answers={answers} />
        </section>
      </div>

      <Chat />
      <Overspend />
    </main>
  )
}
