import { policyForm as policy, trafficForm as traffic, useForm, type Scenario } from './scenario.ts'

/** Scenarios to begin with. Each has one thing to see. */
export const EXAMPLES: readonly { readonly title: string; readonly scenario: Scenario }[] = [
  example('A limit for each minute', [policy('window')], traffic('steady')),
  example(
    'A burst at the border of a window',
    [policy('fixed')],
    traffic('burst', { every: '45s', size: '50' }),
  ),
  example(
    'A burst that a bucket allows',
    [policy('bucket', { limit: '60', burst: '40' })],
    traffic('burst', { tenants: '2' }),
  ),
  example(
    'Requests that wait their turn',
    [policy('leaky', { limit: '5', window: '1s', burst: '30', wait: '4s' })],
    traffic('burst', { tenants: '2', size: '60', every: '30s', lasts: '2m' }),
  ),
  example(
    'A retry storm that waits for nothing',
    [policy('fixed', { limit: '100' })],
    traffic('storm', { tries: '10' }),
  ),
  example(
    'The same storm with Retry-After',
    [policy('fixed', { limit: '100' })],
    traffic('storm', { tries: '10', retry: 'after' }),
  ),
  example(
    'A runaway agent that takes all',
    [policy('window', { limit: '120', per: 'global' })],
    traffic('runaway'),
  ),
  example('Fair shares beside the agent', [policy('shares')], traffic('runaway')),
  example(
    'Minute, day and dollars',
    [policy('window', { limit: '30' }), policy('daily', { limit: '200' }), policy('budget')],
    traffic('steady', { perMinute: '20', lasts: '10m' }),
  ),
  example(
    'Credits that run out',
    [policy('credits'), policy('concurrency', { limit: '10' })],
    traffic('steady', { perMinute: '20', lasts: '10m' }),
  ),
]

function example(
  title: string,
  policies: Scenario['policies'],
  traffic_: Scenario['traffic'],
): { title: string; scenario: Scenario } {
  return { title, scenario: { policies, traffic: traffic_, use: useForm(), seed: '1' } }
}
