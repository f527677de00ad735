import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { raw, startWorker, type TestWorker } from './support.ts'

let worker: TestWorker
beforeAll(async () => {
  worker = await startWorker('app', { LIMIT: '1' })
})
afterAll(() => worker[Symbol.asyncDispose]())

const EVALUATE = [
  '/api/ai/evaluate',
  '/api/ai/evaluate/',
  '/api/ai/evaluate//',
  '/api/ai/evaluate?x=1',
  '/api/ai/evaluate?',
  '/api/ai/evaluate#x',
  '/API/AI/EVALUATE',
  '/Api/Ai/Evaluate',
  '/api/ai/%65valuate',
  '/api/ai/%65%76%61%6c%75%61%74%65',
  '/%61pi/ai/evaluate',
  '/api/ai/EVALUAT%45',
  '/api/ai/%2565valuate',
  '/api/ai/%252565valuate',
  '/api%2fai%2fevaluate',
  '/api%2Fai/evaluate',
  '/api/ai%2fevaluate',
  '/api/ai/evaluate%2f',
  '/api%5cai%5cevaluate',
  '/api\\ai\\evaluate',
  '\\api\\ai\\evaluate',
  '//api/ai/evaluate',
  '/api//ai///evaluate',
  '/./api/ai/evaluate',
  '/api/./ai/./evaluate',
  '/api/ai/../ai/evaluate',
  '/api/ai/x/../evaluate',
  '/api/ai/%2e/evaluate',
  '/api/x/%2e%2e/ai/evaluate',
  '/api/x/.%2E/ai/evaluate',
  '/api/x/..%2fai/evaluate',
  '/../../api/ai/evaluate',
  '/api/ai/evaluate;x=1',
  '/api/ai;v=1/evaluate',
  '/api/ai/evaluate%3bx=1',
  '/api/ai/evaluate/;x',
  '/api/ai/evaluate/sub/path',
  '/api/ai/evaluate/%00',
  '/api/ai/evaluate/%zz',
  '/api/ai/evaluate/%c0%af',
  '/api/ai/evaluate/..%2f..%2f..%2fpublic',
  '/api/ai/evaluate/x%2f..%2f..',
  '/api/ai/evaluate%20',
  '/api/ai/evaluate%09',
  '/api/ai/evaluate%00',
  '/api/ai/evaluate.json',
  '/api/ai/evaluat\u00e9',
  'http://other.example/api/ai/evaluate',
  'http://user:password@other.example//api/ai/evaluate',
]

const MODEL = [
  '/api/models/large',
  '/api/models/meta%2fllama',
  '/api/models/meta%2Fllama%2f',
  '/api/models/%2f',
  '/api/models/;x',
  '/api/models/%3bx',
  '/api/models/a;b',
  '/api/models/a%5cb',
  '/api/models/a%3fb',
  '/api/models/%23',
  '/api/models/%20',
  '/api/models/%e2%82%ac',
  '/api/models/%c0%af',
  '/api/models/%zz',
  '/api/models/..%2fx',
  '/api/models/x%2f..%2f..%2f..%2fpublic',
  '/API/Models/large',
  '/api/%6dodels/meta%2fllama',
]

async function ask(target: string, tenant: string) {
  const { status, body } = await raw(worker, target, { 'x-tenant': tenant })
  const { ran = false } = status === 200 ? (JSON.parse(body) as { ran?: boolean }) : {}
  return { status, ran }
}

describe.each([
  ['/api/ai/evaluate', EVALUATE],
  ['/api/models/large', MODEL],
])('spellings of %s', (canonical, spellings) => {
  it.each(spellings)('%s', async (spelling) => {
    const [one, other] = [randomUUID(), randomUUID()]
    const { status, ran } = await ask(spelling, one)
    const afterwards = await ask(canonical, one)
    await ask(canonical, other)
    const spent = await ask(spelling, other)
    // Whatever runs the model has spent the budget of the path, and runs nothing once it is spent.
    expect({ status, spent: spent.ran, left: ran && afterwards.status === 200 }).toEqual({
      status: expect.toBeOneOf([200, 400]) as number,
      spent: false,
      left: false,
    })
  })

  it('are what they are meant to be: most of them run the model', async () => {
    const answers = await Promise.all(spellings.map((spelling) => ask(spelling, randomUUID())))
    expect(answers.filter(({ ran }) => ran).length).toBeGreaterThan(spellings.length * 0.6)
  })
})

it('the tables hold more than forty spellings', () => {
  expect(EVALUATE.length + MODEL.length).toBeGreaterThan(60)
})
