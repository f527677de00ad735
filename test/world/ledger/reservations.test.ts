import { prove } from './prove.ts'
import { RESERVATIONS } from './worlds.ts'

prove(RESERVATIONS, { states: 812_832, transitions: 11_774_106, classes: 1_418 })
