import { dailyCap, fixedWindow, monthlyCap, type Policy, type PolicyOptions } from '@sluice/core'
import { calendar, type CalendarOptions } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { cancelById, reserve, resumeReservation } from '@sluice/core/reservations'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { manualClock } from '@sluice/core'
import { spend } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR } from '../../support/times.ts'

const redis = sharedRedis()
const per = ['tenant'] as const

/** A policy of each period, by another zone. */
const CALENDARS = {
  day: (options: PolicyOptions<['tenant']>) =>
    dailyCap({ ...options, resets: calendar({ zone: 'Asia/Kathmandu', on: { hour: 6 } }) }),
  week: (options: PolicyOptions<['tenant']>) =>
    fixedWindow({
      ...options,
      resets: calendar({ every: 'week', zone: 'America/New_York', on: { weekday: 'friday' } }),
    }),
  month: (options: PolicyOptions<['tenant']>) =>
    monthlyCap({
      ...options,
      resets: calendar({ zone: () => 'Pacific/Apia', anchor: '2026-01-31' }),
    }),
  year: (options: PolicyOptions<['tenant']>) =>
    fixedWindow({ ...options, resets: calendar({ every: 'year', on: { month: 2, day: 29 } }) }),
}

describe.each(Object.entries(CALENDARS))('a %s', (_, makePolicy) => {
  algorithmConformance({
    describe,
    it,
    makePolicy: (options) => makePolicy(options as PolicyOptions<['tenant']>),
    makeStores: { memory: () => memory(), redis: () => redis.store() },
    histories: 15,
  })
})
