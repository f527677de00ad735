'use client'

import { useCallback, useEffect, useState, type ReactNode } from 'react'
import { tenants } from '../lib/auth/tenants'
import { Chat } from '../components/chat/chat'
import { fetchBudgets, fetchToken, send, type Answer, type Budget } from '../components/console/api'
import { Answers } from '../components/console/answers'
import { Budgets } from '../components/console/budgets'

const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe']
const NOBODY = 'nobody'
const MAX_BURST = 200
const SHOWN_ANSWERS = 200
/** As many as a browser opens to one host: more would only wait in it, and count as slow. */
const CONNECTIONS = 6

export default function Page(): ReactNode {
  const [tenant, setTenant] = useState('starter-1')
  const [route, setRoute] = useState('evaluate')
  const [burst, setBurst] = useState(25)
  const [pending, setPending] = useState(0)
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const { budgets, ageMs, refresh } = useBudgets(tenant, route)

  async function fire(count: number): Promise<void> {
    setPending(count)
    const token = tenant === NOBODY ? undefined : await fetchToken(tenant).catch(() => undefined)
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

  const isBusy = pending > 0
  return (
    <main>
      <header>
        <h1>Sluice</h1>
        <p>
          Four AI routes behind one limiter, and a chat on a budget. Fire traffic at them as any
          tenant, and watch the limits hold.
        </p>
      </header>

      <div className="columns">
        <section className="card" aria-labelledby="send">
          <h2 id="send">Send</h2>
          <label>
            Tenant
            <select value={tenant} onChange={(event) => setTenant(event.target.value)}>
              {tenants.map((known) => (
                <option key={known.tenant} value={known.tenant}>
                  {known.tenant} ({known.plan} plan)
                </option>
              ))}
              <option value={NOBODY}>nobody (no JWT)</option>
            </select>
          </label>
          <label>
            Route
            <select value={route} onChange={(event) => setRoute(event.target.value)}>
              {ROUTES.map((id) => (
                <option key={id} value={id}>
                  /api/ai/{id}
                </option>
              ))}
            </select>
          </label>
          <label>
            Burst
            <input
              type="number"
              min={1}
              max={MAX_BURST}
              value={burst}
              onChange={(event) => setBurst(clamp(event.target.valueAsNumber))}
            />
          </label>
          <div className="buttons">
            <button type="button" disabled={isBusy} onClick={() => void fire(1)}>
              Send one
            </button>
            <button
              type="button"
              className="primary"
              disabled={isBusy}
              onClick={() => void fire(burst)}
            >
              {isBusy ? `Waiting for ${pending} …` : `Send a burst of ${burst}`}
            </button>
          </div>

          <h2>What is left</h2>
          <Budgets budgets={budgets} ageMs={ageMs} isNobody={tenant === NOBODY} />
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

/** The budgets of one tenant on one route, and how old that knowledge is. */
function useBudgets(tenant: string, route: string) {
  const [known, setKnown] = useState<{ budgets: readonly Budget[]; at: number }>({
    budgets: [],
    at: 0,
  })
  const [now, setNow] = useState(0)
  const refresh = useCallback(async () => {
    const budgets = tenant === NOBODY ? [] : await fetchBudgets(route, await fetchToken(tenant))
    setKnown({ budgets, at: performance.now() })
    setNow(performance.now())
  }, [tenant, route])
  const ageMs = Math.max(0, now - known.at)
  const isDue = known.budgets.some(
    ({ limit, remaining, resetMs }) => remaining < limit && ageMs > resetMs,
  )

  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    refresh().catch(() => setKnown({ budgets: [], at: 0 }))
  }, [refresh, isDue])

  return { budgets: known.budgets, ageMs, refresh }
}

const clamp = (count: number): number => Math.min(MAX_BURST, Math.max(1, Math.trunc(count) || 1))
