// The limiter of the gateway, for the command `sluice`, which reads .dev.vars.
import { redisSettings } from './src/env.ts'
import { limiterFor } from './src/limits.ts'

export const limiter = limiterFor(redisSettings(process.env))
