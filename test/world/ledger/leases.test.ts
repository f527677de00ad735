import { prove } from './prove.ts'
import { LEASES } from './worlds.ts'

prove(LEASES, { states: 498_918, transitions: 10_583_523, classes: 698 })
