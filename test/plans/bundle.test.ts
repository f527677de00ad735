import { describe, expect, it } from 'vitest'
import { bundle } from '../support/bundle.ts'

const OPTIONAL = /^(plans\/(?!plans\.js)|configuration\/)/

describe('a Worker loads', () => {
  it.each([
    ['createLimiter, slidingWindow, definePlans', []],
    [
      'createLimiter, planResolver',
      [
        'plans/cached-plan.js',
        'plans/plan-records.js',
        'plans/plan-resolver.js',
        'plans/plan-search.js',
      ],
    ],
    [
      'createLimiter, runtimeConfiguration',
      [
        'configuration/configuration-changes.js',
        'configuration/configuration-document.js',
        'configuration/configuration-record.js',
        'configuration/configuration.js',
        'configuration/settings.js',
      ],
    ],
  ])('of %s nothing that it does not use', async (names, files) => {
    const { kept } = await bundle(`export { ${names} } from '@sluice/core'`)
    const loaded = kept.map((path) => path.replace('packages/core/dist/', ''))
    expect(loaded).toContain('limiter.js')
    expect(loaded.filter((file) => OPTIONAL.test(file)).toSorted()).toEqual(files)
  })
})
