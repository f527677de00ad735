import { useState } from 'react'
import { send, tokenOf, type Answer } from './api'
import { NO_TENANT } from './send-form'

const SHOWN_ANSWERS = 200
/** A browser opens six connections to one host, and one is the dashboard's stream. */
const CONNECTIONS = 5

/** The latest answers, and `sendMany` for more as a tenant to a route. */
export function useAnswers(tenant: string, route: string) {
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const [pending, setPending] = useState(0)

  async function sendMany(count: number): Promise<void> {
    setPending(count)
    const token = tenant === NO_TENANT ? undefined : await tokenOf(tenant).catch(() => undefined)
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
