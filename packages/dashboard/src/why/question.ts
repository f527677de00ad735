import type { WhyQuestion } from './answer.ts'

/** Returns the question that a page has sent; `undefined` if it is none. */
export function parseQuestion(text: string): WhyQuestion | undefined {
  let question: unknown
  try {
    question = JSON.parse(text)
  } catch {
    return undefined
  }
  return isQuestion(question) ? question : undefined
}

function isQuestion(question: unknown): question is WhyQuestion {
  if (typeof question !== 'object' || question === null) return false
  const { tenant, id, limiter, subject, cost } = question as Record<string, unknown>
  return (
    isName(tenant) &&
    (id === undefined || isName(id)) &&
    (limiter === undefined || isName(limiter)) &&
    isRecordOf(subject, isName) &&
    isRecordOf(cost, (units) => typeof units === 'number')
  )
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''

const isRecordOf = (value: unknown, isValid: (one: unknown) => boolean): boolean =>
  value === undefined ||
  (typeof value === 'object' && value !== null && Object.values(value).every(isValid))
