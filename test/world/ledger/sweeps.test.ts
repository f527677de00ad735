import { prove } from './prove.ts'
import { SWEEPS, TENANTS } from './worlds.ts'

const BOTH = ['fixedWindow', 'slidingWindow'] as const

prove(SWEEPS, { states: 125_318, transitions: 1_593_433, classes: 677 }, BOTH)
prove(TENANTS, { states: 92_614, transitions: 928_583, classes: 354 }, BOTH)
