import { useState } from 'react'
import { fetchToken, send, type Answer } from './api'
import { NO_TENANT } from './use-budgets'

const SHOWN_ANSWERS = 200
/** The number of connections that a browser opens to one host. More requests would wait in it. */
const CONNECTIONS = 6

/** The latest answers, and `sendMany` for more as a tenant to a route. */
export function useAnswers(tenant: string, route: string) {
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const [pending, setPending] = useState(0)

  async function sendMany(count: number): Promise<void> {
    setPending(count)
    const token = tenant === NO_TENANT ? undefined : await fetchToken(tenant).catch(() => undefined)
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
  }

  return { answers, pending, sendMany, clear: () => setAnswers([]) }
}
