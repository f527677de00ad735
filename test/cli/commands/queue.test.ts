import { JobError, limitedQueue, work } from '@sluice/queue'
import { afterAll, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { createOperator, jsonOf } from '../operator.ts'
import { removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const cost = { request: 1, usd: 0 }
const subject = { tenant: 'acme', route: 'chat' }

/** The lines of a text, and their cells. */
const words = (text: string): string[] =>
  text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))

function fail({ id }: { id: string }): void {
  throw new JobError(`${id} is not\u001B[2J readable`, { retry: false })
}

it('sluice queue counts the jobs, and says why the last have failed', async () => {
  const { app, running } = createOperator(redis.local)
  const queue = limitedQueue(running, { name: 'summaries' })
  const none = await app.sluice(['queue', 'summaries'])
  expect(words(none.out)).toEqual([
    'waiting | delayed | running | failed | oldest waits for',
    ' | 0 | 0 | 0 | 0',
  ])
  await queue.addAll(['one', 'two', 'three'].map((id) => ({ id, data: 0, subject, cost })))
  await work(queue, fail, { untilIdle: true, concurrency: 1, onFailed: () => {} }).ended
  await queue.add(0, { subject, cost })
  const { out } = await app.sluice(['queue', 'summaries', '--top', '2'])
  const [, counts, , head, last, ...others] = words(out)
  expect(counts).toMatch(/^ \| 1 \| 0 \| 0 \| 3 \| \d+m?s$/)
  expect(head).toBe('failed at | id | subject | attempts | why | error')
  expect(last).toMatch(
    /Z \| three \| tenant=acme route=chat \| 1 \| failed \| three is not.*readable$/,
  )
  expect(out).not.toContain('\u001B')
  expect(others.at(-1)).toBe('and 1 more: --top 3')
  expect(jsonOf(await app.sluice(['queue', 'summaries', '--json']))).toMatchObject({
    queue: 'summaries',
    waiting: 1,
    failed: 3,
    failedJobs: [{ id: 'three' }, { id: 'two' }, { id: 'one' }],
  })
})

it.each([
  [[], 'queue takes the name of one queue'],
  [['one', 'two'], 'queue takes the name of one queue'],
  [['no name'], 'limitedQueue.name'],
])('sluice queue %j is refused, and says how it is called', async (args, text) => {
  const { app } = createOperator(redis.local)
  const { err, exitCode } = await app.sluice(['queue', ...args])
  expect(err).toContain(text)
  expect(exitCode).toBe(1)
})
