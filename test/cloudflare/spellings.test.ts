import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PARAMETER_SPELLINGS, SPELLINGS } from '../support/spellings.ts'
import { raw, startWorker, type TestWorker } from './support.ts'

let worker: TestWorker
beforeAll(async () => {
  worker = await startWorker('app', { LIMIT: '1' })
})
afterAll(() => worker[Symbol.asyncDispose]())

const EVALUATE = [
  ...SPELLINGS.map(({ write }) => write('/api/ai/evaluate')),
  'http://user:password@other.example//api/ai/evaluate',
]

async function ask(target: string, tenant: string) {
  const { status, body } = await raw(worker, target, { 'x-tenant': tenant })
  const { ran = false } = status === 200 ? (JSON.parse(body) as { ran?: boolean }) : {}
  return { status, ran }
}

describe.each([
  ['/api/ai/evaluate', EVALUATE],
  ['/api/models/large', PARAMETER_SPELLINGS],
])('spellings of %s', (canonical, spellings) => {
  it.each(spellings)('%s', async (spelling) => {
    const [one, other] = [randomUUID(), randomUUID()]
    const { status, ran } = await ask(spelling, one)
    const afterwards = await ask(canonical, one)
    await ask(canonical, other)
    const spent = await ask(spelling, other)
    // A spelling that runs the model has spent the budget of the path, and runs nothing once it is spent.
    expect({ status, spent: spent.ran, left: ran && afterwards.status === 200 }).toEqual({
      status: expect.toBeOneOf([200, 400]) as number,
      spent: false,
      left: false,
    })
  })

  it('run the model in most cases', async () => {
    const answers = await Promise.all(spellings.map((spelling) => ask(spelling, randomUUID())))
    expect(answers.filter(({ ran }) => ran).length).toBeGreaterThan(spellings.length * 0.6)
  })
})
