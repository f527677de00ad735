// Checks without end, two hundred at a time, and prints a line for each that is allowed once it is known to be.
import { writeSync } from 'node:fs'
import { createLimiter, slidingWindow } from '@sluice/core'
import { file } from '@sluice/core/file'

console.info = () => {}
const per = ['tenant']
const limiter = createLimiter({
  store: file(process.argv[2]),
  policies: [
    slidingWindow({ name: 'hours', limit: 3_000, window: '9h', per }),
    slidingWindow({ name: 'day', limit: 4_000, window: '1d', per }),
  ],
  onStoreError: 'deny',
})
const check = async () => {
  const { allowed } = await limiter.check({ tenant: 'acme' })
  if (allowed) writeSync(1, 'allowed\n')
  return allowed
}
for (let allowed = true; allowed;) {
  allowed = (await Promise.all(Array.from({ length: 200 }, check))).some(Boolean)
}
