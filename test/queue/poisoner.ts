/* A process that runs jobs, and is killed by one of them. */
import { setTimeout } from 'node:timers/promises'
import { work } from '@sluice/queue'
import { openQueue } from './limits.ts'

const [url = ''] = process.argv.slice(2)
const { queue } = openQueue(url, 4)
const { ended } = work(queue, async ({ data }) => {
  if (data === 0) process.kill(process.pid, 'SIGKILL')
  await setTimeout(200)
})
await ended
