import { expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'

it('a Worker that reserves, without session windows, bundles none of them, nor their settling', async () => {
  const contents = `
    export { createLimiter, slidingWindow } from '@sluice/core'
    export { reserve } from '@sluice/core/reservations'`
  const { kept } = await bundle(contents)
  expect(kept.filter((path) => path.includes('session-window'))).toEqual([])
  const whole = await bundle(`${contents}\nexport { sessionWindow } from '@sluice/core'`)
  expect(whole.kept.filter((path) => path.includes('session-window'))).toHaveLength(2)
  // Its own files are all that it adds.
  expect(whole.kept).toHaveLength(kept.length + 2)
})
