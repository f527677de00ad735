import { parseJson } from '@sluice/core/internal/limiter'
import { isObject } from '../json.ts'
import type { WhyQuestion } from './answer.ts'

/** Returns the question that a page has sent; `undefined` if it is none. */
export function parseQuestion(text: string): WhyQuestion | undefined {
  const question = parseJson(text)
  return isQuestion(question) ? question : undefined
}

function isQuestion(question: unknown): question is WhyQuestion {
  if (!isObject(question)) return false
  const { tenant, id, limiter, subject, cost } = question
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
  value === undefined || (isObject(value) && Object.values(value).every(isValid))
