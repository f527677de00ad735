/**
 * The price of a command at Upstash, in dollars: $0.20 per 100,000, pay as you go, in one region
 * (https://upstash.com/pricing/redis, as of November 2026).
 */
const DOLLARS_PER_COMMAND = 0.2 / 100_000

/** Returns the dollars of a million decisions that run this many commands each. */
export const dollarsPerMillion = (commands: number): number =>
  commands * DOLLARS_PER_COMMAND * 1_000_000
