import { expect, it } from 'vitest'
import { running } from '../../suites.ts'
import { HOUR } from '../../support/times.ts'
import { storesOfAll } from './support.ts'
import { Traffic } from './traffic.ts'

const STORES = storesOfAll()

/** Zones whose clocks change from 5 March to 7 April 2026, some at midnight, one by half an hour. */
const ZONES = [
  'America/Havana',
  'America/New_York',
  'America/Santiago',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Auckland',
  'Pacific/Chatham',
]
const START = Date.UTC(2026, 2, 5, 0, 20)
const HOURS = 33 * 24

/** The gate runs those whose clocks change at midnight, or by half an hour; a run of this file runs all. */
const RUNNING =
  running === 'all' ? ZONES : ['America/Havana', 'America/Santiago', 'Australia/Lord_Howe']

it.each(RUNNING)(
  'a month of hourly traffic in %s is counted alike in memory, in Redis, in a file, in objects, and by the tables of tz',
  async (zone) => {
    const stores = Object.values(STORES).map((make) => make())
    const traffic = new Traffic(zone, stores)
    for (let hour = 0; hour < HOURS; hour += 1) await traffic.hour(START + hour * HOUR)
    expect(traffic.denied).toBeGreaterThan(30)
  },
  120_000,
)
