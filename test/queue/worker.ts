/* One process of the swarm: runs jobs, and logs when each begins and ends. */
import { openSync, writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { work } from '@sluice/queue'
import { monotonicMs, openQueue } from './limits.ts'

const [url = '', logFile = '', seed = ''] = process.argv.slice(2)
const log = openSync(logFile, 'a')
const { queue, close } = openQueue(url)
let random = Number(seed)

/** Returns a number from 0 to 1, the same ones for a seed. */
function draw(): number {
  random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
  return random / 2 ** 32
}

const worker = work(
  queue,
  async ({ data, attempt }) => {
    writeSync(log, `begin ${data} ${monotonicMs()} ${attempt}\n`)
    await setTimeout(draw() * 40)
    const fails = draw() < 0.05
    writeSync(log, `${fails ? 'fail' : 'end'} ${data} ${monotonicMs()} ${attempt}\n`)
    if (fails) throw new Error('no luck')
  },
  { concurrency: 10, lookEvery: '1s' },
)

process.on('message', () => void worker.stop())
process.on('disconnect', () => process.exit())
await worker.ended
close()
process.send?.('ended', () => process.exit())
