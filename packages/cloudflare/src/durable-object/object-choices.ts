import { chooseHere } from '@sluice/core/internal/journal'
import type { PlaceChoices } from './place.ts'

/**
 * Lets an object decide over all choices of a call at once. Without it, the object is asked for one choice after the
 * other, each in a call.
 *
 * @example
 * export class Limits extends LimitsObject {
 *   protected override readonly own = { choices: objectChoices }
 * }
 */
export const objectChoices: PlaceChoices = { decide: chooseHere }
