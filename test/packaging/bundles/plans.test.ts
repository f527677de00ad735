import { describe, expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'

const OPTIONAL =
  /^(limiter\/retry-write|plans\/(?!plans\.js)|configuration\/|reservations\/|policies\/(rollout|backpressure)\.js)/

const BARE = `
  export { createLimiter, slidingWindow } from '@sluice/core'
  export { upstash } from '@sluice/core/upstash'`

/** The files of the core of which a bundle of these exports holds something. */
async function filesOf(contents: string): Promise<string[]> {
  const { kept } = await bundle(contents)
  return kept.map((path) => path.replace('packages/core/dist/', ''))
}

describe('a Worker loads', () => {
  it.each([
    ['a limiter', '', []],
    ['plans', `export { definePlans } from '@sluice/core'`, []],
    [
      'a plan resolver',
      `export { planResolver } from '@sluice/core/plans'`,
      [
        'plans/plan-copies.js',
        'plans/plan-records.js',
        'plans/plan-resolver.js',
        'plans/plan-search.js',
        'plans/resolver-call.js',
      ],
    ],
    [
      'a runtime configuration',
      `export { runtimeConfiguration } from '@sluice/core/configuration'`,
      [
        'configuration/configuration-copy.js',
        'configuration/document-size.js',
        'configuration/document.js',
        'configuration/runtime-configuration.js',
        'configuration/settings-copy.js',
        'configuration/settings.js',
        // Settings may end by themselves.
        'configuration/temporary.js',
        // Settings may be shares of the partitions.
        'policies/rollout.js',
      ],
    ],
    [
      'records of partitions',
      `export { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'`,
      [
        'configuration/configuration-copy.js',
        'configuration/connected-records.js',
        'configuration/document-size.js',
        'configuration/document.js',
        'configuration/partition-copy.js',
        'configuration/partition-record.js',
        'configuration/partition-records.js',
        'configuration/runtime-configuration.js',
        'configuration/settings-copy.js',
        'configuration/settings.js',
        // Settings may end by themselves.
        'configuration/temporary.js',
        'limiter/retry-write.js',
        'policies/rollout.js',
      ],
    ],
    ['a rollout', `export { rollout } from '@sluice/core'`, ['policies/rollout.js']],
    ['a backpressure', `export { backpressure } from '@sluice/core'`, ['policies/backpressure.js']],
    [
      'reservations',
      `export { reserve } from '@sluice/core/reservations'`,
      [
        'reservations/fit-call.js',
        'reservations/held.js',
        'reservations/mark.js',
        'reservations/max-share.js',
        'reservations/reservation-data.js',
        'reservations/reservation.js',
        'reservations/reserve.js',
        'reservations/settle-lua.js',
        'reservations/settle-operation.js',
        'reservations/settle-with-retry.js',
        'reservations/settle.js',
        'reservations/settlements.js',
        'reservations/telling.js',
      ],
    ],
  ])('nothing that it does not use, with %s', async (_, contents, files) => {
    const loaded = await filesOf(`${BARE}\n${contents}`)
    expect(loaded).toContain('limiter/limiter.js')
    expect(loaded.filter((file) => OPTIONAL.test(file)).toSorted()).toEqual(files)
  })

  it('only the report of an unknown plan, without plans', async () => {
    const { text } = await bundle(BARE)
    const texts = ['No plan is named', 'must define at least one plan']
    expect(texts.map((part) => text.includes(part))).toEqual([true, false])
  })
})
