/** The questions, each with the addresses of pages that answer it. */
export const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  "tell my user's browser how much is left today, in dollars": [
    'docs/llm',
    'docs/headers',
    'docs/client',
    'docs/credits',
    'docs/recipes/chat',
  ],
  'limit by address behind Cloudflare or Vercel without being spoofed': [
    'docs/identity',
    'docs/recipes/free-tier',
    'docs/vercel',
  ],
  'what happens if Redis is down': ['docs/operate/redis', 'docs/failure-modes'],
  "monthly cap begins at the customer's billing day": ['docs/calendars'],
  'daily cap resets at midnight in Berlin': ['docs/calendars'],
  'sell prepaid credits, with top-ups and expiry': ['docs/credits', 'docs/recipes/credits'],
  'send one e-mail at 80 % of a budget': [
    'docs/observability',
    'docs/plans',
    'docs/getting-started',
  ],
  'which keys does it store in Redis; delete a tenant': [
    'docs/operate/tenants',
    'docs/operate/personal-data',
    'docs/configuration',
    'docs/algorithms',
  ],
<<<<<<< HEAD
  'does it work with Valkey or Dragonfly': ['docs/redis'],
  'fall back to a cheaper model when the budget is nearly spent': ['docs/choices'],
  'test my route in vitest with a fake clock': ['docs/testing'],
=======
  'does it store personal data, such as addresses, and for how long': [
    'docs/operate/personal-data',
    'docs/personal-data',
  ],
  'does it work with Valkey, Dragonfly, Vercel KV, ElastiCache': ['docs/redis'],
  "share one provider's limit over several keys": [
    'docs/llm',
    'docs/policies',
    'docs/upstream',
    'docs/plans',
  ],
  'fall back to a cheaper model when the budget is nearly spent': ['docs/choices', 'docs/llm'],
  "test my route's limit in vitest with a fake clock": ['docs/testing', 'docs/getting-started'],
>>>>>>> fe94477b (Put the API reference beside the pages, make tabs of plain headings and of code, and let the search read words without their endings)
  'limits per user and per organisation in one decision': ['docs/plans'],
  'what latency does it add, and what does a million requests cost at Upstash': [
    'docs/more-than-one-redis',
    'docs/benchmarks',
    'docs/performance',
    'docs/production',
  ],
<<<<<<< HEAD
  'charge for a stream that the user aborts': ['docs/call-charges'],
  'limit Server Actions in Next.js': ['docs/recipes/server-actions'],
  'exempt administrators and health checks': ['docs/recipes/exemptions'],
=======
  'charge for a stream that the user aborts': ['docs/call-charges', 'docs/reservations'],
  'limit WebSocket messages, or a Realtime API': ['docs/recipes/realtime', 'docs/realtime'],
  'limit Server Actions in Next.js': ['docs/nextjs', 'docs/recipes/server-actions'],
  'exempt administrators, health checks, an internal service': ['docs/recipes/exemptions'],
>>>>>>> fe94477b (Put the API reference beside the pages, make tabs of plain headings and of code, and let the search read words without their endings)
  "customise the 429's body and headers": ['docs/headers'],
  'set my own prices, Azure, discounts': ['docs/prices', 'docs/call-charges'],
  'give a tenant more until tomorrow': ['docs/operate/tenants', 'docs/configuration', 'docs/cli'],
  'limit logins by the e-mail in the body': [
    'docs/recipes/login',
    'docs/recipes/logins',
    'docs/identity',
  ],
  'do counts survive a deployment, a renamed policy, a changed limit': ['docs/operate/upgrade'],
  'GraphQL, one URL, a cost per query': ['docs/recipes/graphql', 'docs/graphql'],
  // Those above are of users who looked for an answer in vain. Those below are what others ask of any limiter.
  'limit requests by API key': ['docs/recipes/api-keys', 'docs/identity'],
  'run it locally without an Upstash account': [
    'packages/local/',
    'docs/cli',
    'docs/start/',
    'docs/getting-started',
  ],
  'stop an agent in a loop from spending money': ['docs/recipes/agent', 'docs/algorithms'],
  'several regions share one limit': ['docs/more-than-one-redis'],
  'higher limits for paying customers': ['docs/plans', 'docs/recipes/free-tier'],
  'sliding window or token bucket': ['docs/policies', 'docs/algorithms'],
  'retry after 429': ['docs/client', 'docs/headers'],
  'queue jobs instead of rejecting them': ['docs/queue', 'docs/waiting'],
  'why was this request denied': [
    'docs/cli',
    'docs/usage',
    'docs/troubleshooting',
    'docs/operate/tenants',
    'packages/dashboard/',
  ],
  'OpenTelemetry metrics and traces': ['docs/observability', 'packages/otel/'],
  'Cloudflare Workers without Redis': [
    'docs/start/durable-objects',
    'docs/without-redis',
    'docs/start/cloudflare',
  ],
  'export usage per customer to CSV for invoices': ['docs/usage'],
  'migrate from express-rate-limit': ['docs/coming-from'],
  'at most five calls at the same time per user': [
    'docs/reservations',
    'docs/policies',
    'docs/algorithms',
  ],
  'try a new limit without denying anyone': ['docs/plans', 'docs/replay'],
}
