import type { Texts } from './fields.ts'
import { assertInteger, assertOneOf } from '@sluice/core/internal'
import { initialTexts, money, toNumber, whole } from './fields.ts'
import { POLICY_KINDS, type PolicyName } from './policies.ts'
import { TRAFFIC_KINDS, type TrafficName } from './traffic.ts'

/** The use of each call, for policies that count tokens, dollars or calls in flight. */
export const USE_FIELDS = {
  estimatedTokens: whole('Tokens, estimated', '2000', 0, 1_000_000),
  usedTokens: whole('Tokens, used', '800', 0, 1_000_000),
  estimatedDollars: money('Dollars, estimated', '0.04'),
  usedDollars: money('Dollars, real price', '0.015'),
  seconds: whole('Seconds that its answer takes', '20', 0, 3_000),
}

/** A form that was filled in: a kind, and the texts of its fields. */
export interface Filled<Name extends string = string> {
  readonly kind: Name
  readonly texts: Texts
}

/** Everything that a link keeps. */
export interface Scenario {
  readonly policies: readonly Filled<PolicyName>[]
  readonly traffic: Filled<TrafficName>
  readonly use: Texts
  readonly seed: string
}

export const MAX_POLICIES = 6
const MAX_SEED = 999_999

export const policyForm = (kind: PolicyName, texts: Texts = {}): Filled<PolicyName> => ({
  kind,
  texts: { ...initialTexts(POLICY_KINDS[kind].fields), ...texts },
})

export const trafficForm = (kind: TrafficName, texts: Texts = {}): Filled<TrafficName> => ({
  kind,
  texts: { ...initialTexts(TRAFFIC_KINDS[kind].fields), ...texts },
})

export const useForm = (texts: Texts = {}): Texts => ({ ...initialTexts(USE_FIELDS), ...texts })

/** @throws ConfigError When it is no seed. */
export const readSeed = (text: string): number => assertInteger('seed', toNumber(text), 1, MAX_SEED)

export const readPolicyName = (option: string, name: string): PolicyName =>
  assertOneOf(option, name as PolicyName, Object.keys(POLICY_KINDS) as PolicyName[])

export const readTrafficName = (option: string, name: string): TrafficName =>
  assertOneOf(option, name as TrafficName, Object.keys(TRAFFIC_KINDS) as TrafficName[])
