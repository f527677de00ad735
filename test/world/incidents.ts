import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimulatedRedis } from './simulated-redis.ts'

/** Lets something happen to a Redis that works. Returns true if it has lost data. */
export function strike(
  redis: SimulatedRedis,
  scheduler: Scheduler,
  random: Random,
  note: (line: string) => void,
  mayLose = true,
): boolean {
  if (redis.condition !== 'up') return false
  const kind = random.weighted({
    down: 3,
    full: 2,
    'read only': 2,
    loading: 1,
    flush: 2,
    restart: 1,
    lose: mayLose ? 1 : 0,
    replicate: 3,
    'fail over': mayLose ? 2 : 0,
  })
  note(`redis: ${kind}`)
  switch (kind) {
    case 'flush':
      redis.flushScripts()
      return false
    case 'replicate':
      redis.replicate()
      return false
    case 'restart':
    case 'lose':
      redis.restart(kind === 'restart')
      return kind === 'lose'
    case 'fail over':
      return redis.failOver()
    case 'down':
    case 'full':
    case 'read only':
    case 'loading':
    default:
      redis.condition = kind
      scheduler.after(random.gap(1_000), () => {
        note('redis: up')
        redis.condition = 'up'
      })
      return false
  }
}
