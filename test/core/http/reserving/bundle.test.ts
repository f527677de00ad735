import { expect, it } from 'vitest'
import { bundle } from '../../../support/bundle.ts'

it('a bundle without reserving has nothing of it', async () => {
  const without = await bundle("export { rateLimit, withHeaders } from '@sluice/core/http'")
  expect(without.kept).toContain('packages/core/dist/http/guard/guard.js')
  const ofReservations = /\/(reservations\/|http\/(reserving|call-in-flight|guess-limit)\.js)/
  expect(without.kept.filter((path) => ofReservations.test(path))).toEqual([])
})
