import { expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'

it('a Worker without a manifest bundles none of it', async () => {
  const contents = `
    export { createLimiter, slidingWindow } from '@sluice/core'
    export { rateLimit } from '@sluice/cloudflare'`
  const { kept } = await bundle(contents)
  expect(kept.filter((path) => path.includes('/manifest'))).toEqual([])
  expect(kept.filter((path) => path.includes('token-bucket'))).toEqual([])
  const whole = await bundle(`${contents}\nexport { defineManifest } from '@sluice/core/manifest'`)
  expect(whole.kept.filter((path) => path.includes('/manifest/')).length).toBeGreaterThan(3)
  // Passed to it by those who have one.
  expect(whole.kept.filter((path) => path.includes('/calendars/'))).toEqual([])
})
