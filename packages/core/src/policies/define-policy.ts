import { invalidOption } from '../internal/validation.ts'
import { policyOfRule } from './define-rule.ts'

/** The ids of Sluice's own algorithms have no dot, so no other can be taken for one of them. */
const ID = /^[\w-]+(?:\.[\w-]+)+$/

/**
 * Creates a policy from options and an algorithm of your own: start here to write a factory.
 *
 * @param factory The factory's name, with which errors begin.
 * @param ownOptions The names of the options that only this factory has.
 * @param configure Validates these options and returns the algorithm with its numbers.
 * @throws ConfigError When an option is unknown, a common option is missing or out of range, or the algorithm's `id` has
 * no dot.
 * @example
 * const gcra = (options: GcraOptions) =>
 *   definePolicy('gcra', options, ['window'], () => ({ algorithm, params: [60_000], windowMs: 60_000 }))
 */
export const definePolicy: typeof policyOfRule = (factory, options, ownOptions, configure) =>
  policyOfRule(factory, options, ownOptions, () => {
    const config = configure()
    const { id } = config.algorithm
    if (ID.test(id)) return config
    const message = 'must have a dot, such as "myapp.gcra": ids without one are those of Sluice'
    throw invalidOption(`${factory}.algorithm.id`, message, id)
  })
