import type { Scenario } from './scenario'
import { bulkImport } from './bulk-import'
import { fallingBudget } from './falling-budget'
import { midnight } from './midnight'
import { redisDown } from './redis-down'
import { retryStorm } from './retry-storm'
import { runawayAgent } from './runaway-agent'
import { scraper } from './scraper'

/** The scenarios, in the order of their buttons. */
export const scenarios: readonly Scenario[] = [
  runawayAgent,
  retryStorm,
  bulkImport,
  scraper,
  redisDown,
  midnight,
  fallingBudget,
]
