import type { Fields } from './fields.ts'
import { refused, withIssues } from './issue.ts'
import { POLICY_KINDS } from './policies.ts'
import {
  MAX_POLICIES,
  policyForm,
  readPolicyName,
  readTrafficName,
  trafficForm,
  USE_FIELDS,
  useForm,
  type Scenario,
} from './scenario.ts'
import { TRAFFIC_KINDS } from './traffic.ts'

/** Returns true if the traffic is a log of the reader. A link leaves it out: addresses are kept in histories. */
export const hasOwnLog = ({ traffic: { kind, texts } }: Pick<Scenario, 'traffic'>): boolean =>
  kind === 'log' && texts['log'] !== TRAFFIC_KINDS.log.fields['log']?.initial

/**
 * Returns the link of a scenario, as the part after `#`. It can be read: `policy=window&policy.limit=60`, where the options
 * of a policy follow it.
 */
export function linkOf(scenario: Scenario): string {
  const { policies, traffic, use, seed } = scenario
  const parts = new URLSearchParams()
  const write = (name: string, texts: Readonly<Record<string, string>>): void => {
    for (const [field, text] of Object.entries(texts)) parts.append(`${name}.${field}`, text)
  }
  for (const { kind, texts } of policies) {
    parts.append('policy', kind)
    write('policy', texts)
  }
  parts.append('traffic', traffic.kind)
  if (traffic.kind !== 'log') write('traffic', traffic.texts)
  else if (hasOwnLog(scenario)) write('traffic', { log: '' })
  write('use', use)
  parts.append('seed', seed)
  return parts.toString()
}

/** Reads a link, with mistakes in its fields. One that it leaves out has its first value. @throws Issue When the link is broken; it names the part. */
export async function readLink(link: string): Promise<Scenario> {
  const policies: { kind: ReturnType<typeof readPolicyName>; texts: Record<string, string> }[] = []
  let traffic:
    { kind: ReturnType<typeof readTrafficName>; texts: Record<string, string> } | undefined
  const use: Record<string, string> = {}
  let seed = '1'
  await withIssues('link', {}, () => {
    for (const [name, text] of new URLSearchParams(link)) {
      const [group = '', field] = name.split('.', 2)
      const policy = policies.at(-1)
      if (name === 'policy') policies.push({ kind: readPolicyName('link.policy', text), texts: {} })
      else if (name === 'traffic')
        traffic = { kind: readTrafficName('link.traffic', text), texts: {} }
      else if (name === 'seed') seed = text
      else if (field === undefined)
        throw refused('link', `link.${name}`, 'must be a policy, traffic, use or seed')
      else if (group === 'policy' && policy) keep(POLICY_KINDS[policy.kind].fields, policy.texts)
      else if (group === 'traffic' && traffic)
        keep(TRAFFIC_KINDS[traffic.kind].fields, traffic.texts)
      else if (group === 'use') keep(USE_FIELDS, use)
      else
        throw refused(
          'link',
          `link.${name}`,
          'must follow the policy or the traffic that it belongs to',
        )

      function keep(fields: Fields, into: Record<string, string>): void {
        if (field === undefined || !Object.hasOwn(fields, field)) {
          const known = Object.keys(fields).join('", "')
          throw refused('link', `link.${name}`, `is no field of it; expected "${known}"`)
        }
        into[field] = text
      }
    }
  })
  if (policies.length === 0 || policies.length > MAX_POLICIES) {
    throw refused('link', 'link.policy', `must be there 1 to ${MAX_POLICIES} times`)
  }
  if (traffic === undefined) {
    throw refused(
      'link',
      'link.traffic',
      `must be one of "${Object.keys(TRAFFIC_KINDS).join('", "')}"`,
    )
  }
  return {
    policies: policies.map((policy) => policyForm(policy.kind, policy.texts)),
    traffic: trafficForm(traffic.kind, traffic.texts),
    use: useForm(use),
    seed,
  }
}
