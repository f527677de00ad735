import { matchesGlob } from 'node:path'

/** A command of its own, `npm run test:<name>`, for files that take too long for `npm test`. */
export interface Suite {
  /** The test files, as globs. */
  readonly files: readonly string[]
  /** Its needs on the machine beside Redis; `scripts/ensure.mjs` installs them. */
  readonly needs?: readonly ('browser' | 'prometheus')[]
  /** The files to run at a time. @default 2 */
  readonly workers?: number
}

const DURABLE_OBJECTS = 'test/cloudflare/durable-object/**/*.test.ts'

/** The suites beside `npm test`, which runs every file that none of them names. */
export const SUITES = {
  /** Apps, packages and commands as users build, pack and start them, and clients that wait as they do. */
  apps: {
    files: [
      'test/cli/{command-line,commands/operator-faults,dev/*,doctor/doctor-stores,init/init-apps,mcp/*}.test.ts',
      'test/clients/retries.test.ts',
      'test/dashboard/{many-processes,next,three-processes}.test.ts',
      'test/docs/start-calls.test.ts',
      'test/next/{cache-components,edge-middleware,node-proxy,whose-request}.test.ts',
      'test/e2e/{demo,demo-safety,overspend}.test.ts',
      'test/e2e/gateway-*.test.ts',
      'test/packaging/{commonjs,consumer,packages,upstash-variants,versions}.test.ts',
      'test/bench/{gateway,run}.test.ts',
    ],
  },
  /** The table of stores, of which `npm test` has three rows and this suite all others; and Durable Objects, all of them. */
  stores: {
    files: [
      DURABLE_OBJECTS,
      'test/conformance/conformance.test.ts',
      'test/ai/live/live-prices.test.ts',
      'test/choices/stores.test.ts',
      'test/core/api-keys/stores.test.ts',
      'test/core/configuration/{after-a-pause,configure,history,records,reset,reset-routes,temporary}.test.ts',
      'test/core/http/calls-in-flight/stores.test.ts',
      'test/core/plans/{renamed-plans,upgrade}.test.ts',
      'test/core/reservations/{by-id,cases,choices,settling}.test.ts',
      'test/core/credits/{histories,moves,races}.test.ts',
      'test/core/explain/stores.test.ts',
      'test/core/policies/fair-share/stores.test.ts',
      'test/core/shards/moves.test.ts',
      'test/core/upstream/stores.test.ts',
      'test/core/waiting/stores.test.ts',
      'test/docs/operate/policy-changes.test.ts',
      'test/queue/{stores,taken-over}.test.ts',
      'test/usage/recording/{choices,forgetting,recording,released}.test.ts',
      'test/usage/denials/{denied-cost,recording}.test.ts',
    ],
  },
  /** Long random histories beside oracles that share no code with the product, faults, and broken stores that are caught. */
  proofs: {
    files: [
      'test/ai/call/random-fits.test.ts',
      'test/choices/{lost-replies,places,random}.test.ts',
      'test/commands/per-decision.test.ts',
      'test/conformance/!(conformance|peer-mistakes).test.ts',
      'test/core/algorithms/{fragments,key-memory,log}.test.ts',
      'test/core/calendars/oracle/runtimes.test.ts',
      'test/core/credits/many-ids.test.ts',
      'test/core/leases/{never-above,pressure}.test.ts',
      'test/core/policies/stripes.test.ts',
      'test/core/places/place-leases.test.ts',
      'test/core/routes/long-paths.test.ts',
      'test/core/reservations/{crowded-log,invariants}.test.ts',
      'test/core/policies/fair-share/{fairness,twins}.test.ts',
      'test/core/stores/{cluster,three-methods,cache-denials/memory}.test.ts',
      'test/core/upstream/follows.test.ts',
      'test/core/waiting/{crowd,twins}.test.ts',
      'test/doors/{bodies,clients,examples,models}.test.ts',
      'test/core/testing/{algorithm-mutants,mutants}.test.ts',
      'test/faults/**/*.test.ts',
      'test/leases/{swarm,objects,places}.test.ts',
      'test/local/script-budget.test.ts',
      'test/trace/**/*.test.ts',
      'test/queue/{poison,swarm,state/order,state/twins}.test.ts',
      'test/replay/limits/configured.test.ts',
      'test/usage/{recording/large-cells,report/findings}.test.ts',
      'test/world/**/*.test.ts',
    ],
  },
  /** The tools of operators: the dashboard in a browser, Prometheus, a million lines of a log. */
  observability: {
    files: ['test/observability/**/*.test.ts'],
    needs: ['browser', 'prometheus'],
    // A page that shows a scenario waits most of the time.
    workers: 3,
  },
} as const satisfies Record<string, Suite>

export type SuiteName = keyof typeof SUITES

/** The kinds of stores that `npm test` runs the table of stores on. */
export const MAIN_STORES: readonly string[] = [
  'memory',
  'redis, built-in transport',
  'embedded engine, built-in transport',
]

/** The suite that runs: one of `SUITES`, `'all'` for files that were named, or else `npm test`. */
export const running: string | undefined = process.env['TEST_SUITE']

/** The files of a suite to run at a time. */
export const workersOf = (suite: string | undefined): number =>
  (SUITES as Record<string, Suite>)[suite ?? '']?.workers ?? 2

/** The files to run and to leave out, for vitest. */
export function filesOf(suite: string | undefined): { include: string[]; exclude: string[] } {
  const every = 'test/**/*.test.ts'
  if (suite === 'all') return { include: [every], exclude: [] }
  if (suite !== undefined) return { include: [...SUITES[suite as SuiteName].files], exclude: [] }
  // The table of stores is in both, with other rows.
  const { stores: _, ...others } = SUITES
  const exclude = Object.values(others).flatMap(({ files }): readonly string[] => files)
  return { include: [every], exclude: [...exclude, DURABLE_OBJECTS] }
}

/**
 * The folders whose files run one after another in one process, which is faster by more than half a second a file. A
 * file that changes what its process has, or counts on a fresh one, is an exception.
 */
const ONE_PROCESS = {
  files:
    'test/{ai,architecture,choices,cloudflare,commands,conformance,core,doors,leases,local,otel,replay,usage}/**/*.test.ts',
  exceptions: [
    'test/ai/{call/waiting,doors/wait-until}.test.ts',
    // Their Redis ends with the file that has imported it first.
    'test/commands/*.test.ts',
    'test/core/algorithms/key-memory.test.ts',
    'test/core/configuration/reset-routes.test.ts',
    'test/core/http/{cost,delay,hang-ups,unknown-routes,wait-until}.test.ts',
    'test/core/limiter/silent-mistakes.test.ts',
    'test/core/manifest/adapters.test.ts',
    'test/core/routes/**/*.test.ts',
    'test/core/waiting/{crowd,order,store-failure,wait-for}.test.ts',
    // It loads a second copy of OpenTelemetry's API, which the files after it would share.
    'test/otel/registration.test.ts',
  ],
}

/** Tells whether a test file runs in one process with others. */
export const sharesProcess = (file: string): boolean =>
  matchesGlob(file, ONE_PROCESS.files) &&
  !ONE_PROCESS.exceptions.some((exception) => matchesGlob(file, exception))
