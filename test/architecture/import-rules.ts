/**
 * The rooms of the core, from the ground up: each imports from the rooms that it lists, and from
 * itself. `nouns` are the files at the root and `internal/`, which serves them; `index.ts` is a table of
 * contents and names every room. `docs/architecture.md` draws this table.
 */
export const ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  algorithms: 'nouns',
  policies: 'nouns algorithms',
  // The script decides a request of the port, which itself knows no Lua.
  lua: 'nouns algorithms policies stores',
  stores: 'nouns algorithms policies lua',
  limiter: 'nouns policies lua stores',
  reservations: 'nouns algorithms policies lua stores limiter',
  leases: 'nouns algorithms policies lua stores reservations',
  // Several stores, each with tenants of its own.
  shards: 'nouns lua stores',
  // Units of home for decisions of another place.
  places: 'nouns policies stores reservations leases',
  // A store that decides by data alone knows functions by name.
  journal: 'nouns algorithms policies stores limiter reservations leases',
  // The only room that imports Node.js.
  file: 'nouns stores journal node',
  plans: 'nouns policies stores limiter',
  configuration: 'nouns policies stores limiter',
  explain: 'nouns policies stores limiter reservations',
  calendars: 'nouns algorithms policies',
  credits: 'nouns algorithms policies lua stores limiter reservations',
  upstream: 'nouns policies stores limiter',
  routes: 'nouns',
  http: 'nouns routes stores limiter reservations',
  // Waits behind adapters, too.
  waiting: 'nouns algorithms policies lua stores limiter routes http',
  identity: 'nouns http jose',
  'api-keys': 'nouns stores limiter http identity',
  operator: 'nouns policies stores limiter configuration api-keys',
  client: 'nouns http',
  manifest: 'nouns policies routes calendars',
  testing: 'nouns algorithms policies stores limiter reservations leases',
}

/** The wings of the core. `decide` is for the first day. Each imports from itself and from those before it. */
export const WINGS: Readonly<Record<string, string>> = {
  decide: 'nouns algorithms policies lua stores limiter reservations routes http',
  scale: 'leases shards places journal file',
  extend:
    'plans configuration explain calendars credits upstream waiting identity api-keys operator client manifest testing',
}

/** The rooms of `@sluice/ai` in the same way. `nouns` are the files at its root. */
export const AI_ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  formats: 'nouns',
  estimate: 'nouns formats',
  meter: 'nouns formats estimate',
  prices: 'nouns',
  live: 'nouns prices',
  policies: 'nouns',
  call: 'nouns formats estimate meter prices policies',
  fallback: 'nouns call',
  doors: 'nouns meter prices policies call',
}

/** The rooms of `@sluice/usage`. */
export const USAGE_ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  counters: 'nouns',
  recording: 'nouns counters',
  denials: 'nouns counters recording',
  report: 'nouns counters recording',
}

/** The rooms of `@sluice/queue`: `state` has the scripts, and knows nothing else. */
export const QUEUE_ROOMS: Readonly<Record<string, string>> = { state: '', nouns: 'state' }

/** The rooms of the command. Only a command knows several. */
export const CLI_ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  source: '',
  dev: 'nouns',
  init: 'nouns',
  mcp: 'nouns',
  credits: 'nouns',
  replay: 'nouns',
  doctor: 'nouns source',
  // For tests of apps. No command needs it.
  testing: 'source',
  commands: 'nouns source dev init mcp credits replay doctor',
}

/** The rooms of the dashboard: `react` shows what `server` streams, `page` is bundled for browsers. */
export const DASHBOARD_ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  records: 'nouns',
  state: 'nouns records',
  server: 'nouns records state',
  why: 'nouns server',
  react: 'nouns why',
  page: 'react',
}

/** The rooms of `@sluice/replay`. */
export const REPLAY_ROOMS: Readonly<Record<string, string>> = {
  nouns: '',
  simulation: 'nouns',
  log: 'nouns',
  bounds: 'nouns simulation',
  mistakes: 'nouns simulation bounds',
  limits: 'nouns simulation',
  report: 'log simulation limits',
}

/** The file of `stores/` that every room above it may import. */
export const PORT = /^stores\/store\.ts$/

/** The files of `stores/` that a room may import, if it needs more than the port. */
export const STORE_FILES: Readonly<Record<string, RegExp>> = {
  limiter: /^stores\/(store|fallback)\.ts$/,
  // Decides on states that it keeps itself.
  journal: /^stores\/(store|decide-on|choices\/tries)\.ts$/,
  // Alternatives come with the choices that a call has, and with nothing else.
  reservations: /^stores\/(store|choices\/(alternatives|tries))\.ts$/,
  places: /^stores\/(store|deadline|placed\/(placed-store|places-by))\.ts$/,
  // A fence answers as Redis does.
  shards: /^stores\/(store|deadline|redis\/transport|placed\/(placed-store|places-by))\.ts$/,
  // Tests your own algorithms in memory.
  testing: /^stores\/(store|memory)\.ts$/,
}
