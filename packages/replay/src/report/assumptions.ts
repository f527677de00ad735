/** The limits of what a replay tells. */
export const ASSUMPTIONS: readonly string[] = [
  'A denied call is not sent again: clients that retry are not simulated.',
  'Each call is charged what the log says that it used, at the time of its line; nothing is reserved before.',
  'Delays of leaky buckets and backpressure are counted, and the calls stay at their times.',
  'Tokens and dollars of denied calls count as saved.',
]
