/** A generator that always gives the same numbers. */
function dice(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const roll = dice(7)
const drawn = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(roll() * alphabet.length)]).join('')
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n')

const ORDERS = Array.from({ length: 12 }, (_, index) => ({
  id: 10_230 + index,
  customer: { name: ['Ada Byron', 'Grace Hopper', 'Alan Kay'][index % 3], country: 'NL' },
  items: [{ sku: `A-${100 + index}`, quantity: index + 1, price: 19.99 }],
  paid: index % 2 === 0,
  note: null,
  createdAt: `2026-03-${10 + index}T08:15:30.000Z`,
}))

const TYPESCRIPT = `import type { Policy, Verdict } from './policy.ts'
import { ConfigError } from './errors.ts'

export interface WindowOptions {
  readonly name: string
  readonly limit: number | ((context: LimitContext) => number | undefined)
  readonly windowMs: number
}

/** Counts requests in the window that ends now. */
export function createWindow(options: WindowOptions): Policy {
  const entries = new Map<string, { at: number; cost: number }[]>()
  if (!Number.isInteger(options.windowMs) || options.windowMs <= 0) {
    throw new ConfigError('invalid_option', 'windowMs', \`must be positive, not \${options.windowMs}\`)
  }
  return {
    name: options.name,
    check(key: string, cost: number, now: number): Verdict {
      const recent = (entries.get(key) ?? []).filter(({ at }) => at > now - options.windowMs)
      const used = recent.reduce((sum, entry) => sum + entry.cost, 0)
      const fits = used + cost <= Number(options.limit)
      if (fits) recent.push({ at: now, cost })
      entries.set(key, recent)
      return { fits, remaining: Math.max(0, Number(options.limit) - used - (fits ? cost : 0)) }
    },
  }
}
`

const PYTHON = `from dataclasses import dataclass, field
from collections import deque
import time


@dataclass
class SlidingWindow:
    """Counts what was spent in the last \`window\` seconds."""

    limit: int
    window: float
    _entries: deque[tuple[float, int]] = field(default_factory=deque, repr=False)

    def allow(self, cost: int = 1, now: float | None = None) -> bool:
        now = time.monotonic() if now is None else now
        while self._entries and self._entries[0][0] <= now - self.window:
            self._entries.popleft()
        used = sum(spent for _, spent in self._entries)
        if used + cost > self.limit:
            return False
        self._entries.append((now, cost))
        return True


if __name__ == "__main__":
    limiter = SlidingWindow(limit=3, window=1.0)
    print([limiter.allow() for _ in range(5)])  # [True, True, True, False, False]
`

const MINIFIED = `"use strict";var e=new Map,t=(r,n)=>{let o=e.get(r)??[],i=o.filter(({at:s})=>s>n-6e4),a=i.reduce((s,c)=>s+c.cost,0);return a>=60?{ok:!1,wait:i[0].at+6e4-n}:(i.push({at:n,cost:1}),e.set(r,i),{ok:!0,wait:0})};export{t as check};function u(r){return r.headers.get("x-tenant")||"anon"}async function f(r){const n=t(u(r),Date.now());if(!n.ok)return new Response(null,{status:429,headers:{"retry-after":String(Math.ceil(n.wait/1e3))}});return fetch(r)}export default{fetch:f};`

const SQL = `SELECT t.name AS tenant, COUNT(*) AS requests, SUM(u.input_tokens + u.output_tokens) AS tokens
FROM usage_events u
INNER JOIN tenants t ON t.id = u.tenant_id
WHERE u.created_at >= NOW() - INTERVAL '30 days' AND u.status_code < 400
GROUP BY t.name
HAVING SUM(u.cost_micro_usd) > 1000000
ORDER BY tokens DESC
LIMIT 25;

CREATE UNIQUE INDEX CONCURRENTLY idx_usage_events_tenant_created
  ON usage_events (tenant_id, created_at DESC) WHERE deleted_at IS NULL;
`

const HTML = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Usage</title><link rel="stylesheet" href="/assets/app.css"></head>
  <body class="min-h-screen bg-gray-50 text-gray-900">
    <nav id="main-nav" aria-label="Main"><ul><li><a href="/usage?month=2026-03">March</a></li></ul></nav>
    <table class="w-full border-collapse"><thead><tr><th scope="col">Tenant</th><th>Tokens</th></tr></thead>
      <tbody><tr data-id="17"><td>Acme</td><td class="text-right">1,204,331</td></tr></tbody>
    </table>
    <script type="module" src="/assets/main.js" defer></script>
  </body>
</html>
`

const MARKDOWN = `# Limits

| plan    | requests a minute | tokens a day |
| ------- | ----------------: | -----------: |
| starter |                20 |      100,000 |
| growth  |                60 |    1,000,000 |

1. **Count first.** A request is charged _before_ the model runs; see [units](./units.md#costs).
2. Return \`429\` with \`Retry-After\`, and nothing else.

> Denied requests cost nothing.

\`\`\`sh
curl -sS -X POST https://api.example.com/v1/chat -H 'content-type: application/json' -d @body.json
\`\`\`
`

/** Text that is no prose, by kind. */
export const KINDS: Readonly<Record<string, string>> = {
  TypeScript: TYPESCRIPT,
  Python: PYTHON,
  'minified JavaScript': MINIFIED,
  SQL,
  HTML,
  Markdown: MARKDOWN,
  'JSON, indented': JSON.stringify(ORDERS, null, 2),
  'JSON, compact': JSON.stringify(ORDERS),
  CSV: lines(30, (index) => `${1_000 + index},acme,evaluate,2026-03-01,${index * 37},0.00${index}`),
  'log lines': lines(
    20,
    (index) =>
      `2026-03-01T12:00:${10 + index}.482Z INFO  [worker-${index % 4}] POST /api/ai/chat 200 ${index * 13}ms tenant=acme tokens=${index * 911}`,
  ),
  URLs: lines(
    12,
    (index) =>
      `https://cdn.example.com/assets/v2/images/${drawn('abcdef0123456789', 12)}/hero-${index}@2x.webp?w=1280&q=80&fit=crop#top`,
  ),
  numbers: lines(40, () => drawn('0123456789', 3 + Math.floor(roll() * 12))),
  base64: drawn(BASE64, 1_200),
  hexadecimal: drawn('0123456789abcdef', 1_200),
  UUIDs: lines(25, () =>
    [8, 4, 4, 4, 12].map((length) => drawn('0123456789abcdef', length)).join('-'),
  ),
  'upper case': `THE LIMIT APPLIES TO ALL CALLERS OF THE SERVICE, INCLUDING INTERNAL ONES. EXCEPTIONS REQUIRE WRITTEN APPROVAL FROM THE PLATFORM TEAM AND EXPIRE AFTER THIRTY DAYS. VIOLATIONS ARE REPORTED WEEKLY.`,
  indentation: lines(40, (index) => `${' '.repeat((index % 9) * 4)}x${'\t'.repeat(index % 5)}`),
  emoji: '😀🎉🚀👍🏽❤️🔥✨🙏😂🤔👩‍💻👨‍👩‍👧‍👦🇳🇱🇯🇵🏳️‍🌈🎂🍕🐙🦊🌍☀️⛄️⚡️✅❌➡️🔒📈💡🧪🛠️🎯🥇📎'.repeat(3),
  'symbols and mathematics':
    '∀x∈ℝ: x² ≥ 0 ∧ √(x²) = |x|, ∑ᵢ₌₁ⁿ i = n(n+1)/2, α ≤ β ⇒ ¬(α > β), A ∪ B ⊆ C, ∫₀^∞ e^{-x²} dx = √π⁄2 ± ε, f: X → Y, ⟨ψ|φ⟩ ≈ 0.5 ÷ 2 × 4 ≠ ∅ … ─│┌┐└┘├┤┬┴┼ ■□▪▫●○◆◇★☆ →←↑↓⇄⇧ €£¥₹₿ §¶†‡ ™®©'.repeat(
      2,
    ),
  'random lower-case letters': lines(30, () => drawn('abcdefghijklmnopqrstuvwxyz', 24)),
  'random punctuation': drawn('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 600),
}
