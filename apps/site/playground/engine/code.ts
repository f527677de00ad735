import { STORE, type Plan } from './program.ts'
import { collectImports, print } from './expression.ts'

/**
 * Returns the file that makes the decisions of a scenario: its policies are those that run, printed. The page shows it, and
 * a test runs it.
 */
export function codeOf(plan: Plan, startMs: number): string {
  const { policies, units, reserves, grants } = plan
  const imports = new Map<string, Set<string>>([
    ['@sluice/core', new Set(['createLimiter', 'manualClock'])],
  ])
  if (reserves) imports.set('@sluice/core/reservations', new Set(['reserve']))
  for (const made of [STORE, ...policies]) collectImports(made, imports)
  for (const { amount } of grants) collectImports(amount, imports)
  if (grants.length > 0) imports.get('@sluice/core/credits')?.add('grant')
  return [
    ...[...imports]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([entry, names]) => `import { ${[...names].toSorted().join(', ')} } from '${entry}'`),
    '',
    '// In production: the store upstash(), and no clock.',
    `export const clock = manualClock(Date.parse('${new Date(startMs).toISOString()}'))`,
    '',
    'export const limiter = createLimiter({',
    `  store: ${print(STORE)},`,
    '  clock,',
    ...(grants.length > 0 ? ["  onStoreError: 'deny',"] : []),
    '  policies: [',
    ...policies.map((policy) => `    ${print(policy, '    ')},`),
    '  ],',
    '})',
    ...(grants.length > 0 ? welcomeCode(plan) : []),
    '',
    ...(reserves ? reserveCode(units) : checkCode),
    '',
  ].join('\n')
}

const checkCode = [
  '// For each request. A denial is answered with tooManyRequests(decision).',
  'export const decide = (tenant: string) => limiter.check({ tenant })',
]

function reserveCode(units: readonly string[]): string[] {
  const type = units.map((unit) => `${unit}: number`).join('; ')
  const [given, cost] = units.length > 0 ? [`, cost: { ${type} }`, ', { cost }'] : ['', '']
  const call = `reserve(limiter, { tenant }${cost})`
  const head = `export const decide = (tenant: string${given}) =>`
  return [
    '// For each call, with its estimate. A denial is answered with tooManyRequests(decision).',
    '// Once the call is over: await decision.settle({ … }) with its real use.',
    ...(head.length + call.length < 90 ? [`${head} ${call}`] : [head, `  ${call}`]),
  ]
}

function welcomeCode({ grants }: Plan): string[] {
  return [
    '',
    '// For each new tenant. A balance is 0 until its first grant.',
    'export async function welcome(tenant: string) {',
    "  const once = { id: 'welcome', at: new Date(clock()), kind: 'paid' } as const",
    ...grants.map(
      ({ policy, amount }) =>
        `  await grant(limiter, { tenant }, { policy: '${policy}', amount: ${print(amount)}, ...once })`,
    ),
    '}',
  ]
}
