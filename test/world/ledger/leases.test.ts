import { prove } from './prove.ts'
import { LEASES } from './worlds.ts'

prove(LEASES, { states: 403_244, transitions: 8_549_016, classes: 558 })
