import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs, parseEnv } from 'node:util'

/** The command that creates a key, in the folder of the gateway. */
export const CREATE_KEY = 'npx @sluice/cli keys create --tenant acme --plan growth --yes'

export const HELP = `Usage: npm run gateway -- [options]

Builds the gateway and starts it on this machine, with a key to try it. Without any setting, a
stand-in answers instead of a model.

  --port <number>   the port (default: 8787, or a free one if 8787 is in use)
  --state <folder>  the folder that keeps keys and budgets (default: apps/worker/.wrangler/gateway
                    with a provider; none with the stand-in: they end with the gateway)
  --no-build        start the last build
  --help            print this text

For a real model, set the key of its provider, such as OPENAI_API_KEY, in the environment or in
apps/worker/.dev.vars. The settings are in apps/worker/README.md.`

const FILE = fileURLToPath(new URL('../.dev.vars', import.meta.url))
const STATE = fileURLToPath(new URL('../.wrangler/gateway', import.meta.url))

const VARIABLES = [
  'SLUICE_OBJECTS_TOKEN',
  'STORE',
  'UPSTASH_REDIS_REST_URL',
  'UPSTASH_REDIS_REST_TOKEN',
  'STORE_TIMEOUT_MS',
  'ADMIN_KEY',
  'TENANT_IDS',
  'MODELS',
  'ANSWER_TIMEOUT_SECONDS',
  'IDLE_TIMEOUT_SECONDS',
  'UNANSWERED',
  'INCOMPLETE',
  'PAUSE_SECONDS',
  'MAX_BODY_BYTES',
  'LOG_CALLS',
]

/** The ready-made providers, as the names of their variables begin. Those of others are in `.dev.vars`. */
const PROVIDERS = [
  'OPENAI',
  'ANTHROPIC',
  'AZURE',
  'DEEPSEEK',
  'GEMINI',
  'GROQ',
  'MISTRAL',
  'OPENROUTER',
  'WORKERS_AI',
  'XAI',
]

/** Adds the settings in `.dev.vars` to those of the environment, which take precedence. Returns their names. */
export function loadSettings() {
  if (!existsSync(FILE)) return []
  process.loadEnvFile(FILE)
  return Object.keys(parseEnv(readFileSync(FILE, 'utf8')))
}

/** Parses the command line. Throws an error that names the invalid option. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      state: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  })
  const { port, state, help } = values
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    throw new Error(`--port must be a number from 0 to 65535, not "${port}"`)
  }
  const number = port === undefined ? undefined : Number(port)
  return { help, build: !values['no-build'], port: number, state }
}

/** Reads the settings of the gateway, and those that `.dev.vars` names. Throws if half of them are missing. */
export function settingsIn(env, named = []) {
  const ofProviders = PROVIDERS.flatMap((name) => [`${name}_API_KEY`, `${name}_BASE_URL`])
  const names = new Set([...VARIABLES, ...ofProviders, ...named])
  const variables = Object.fromEntries(
    [...names].filter((name) => env[name]).map((name) => [name, env[name]]),
  )
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, STORE } = variables
  if (!url !== !token) {
    const missing = url ? 'UPSTASH_REDIS_REST_TOKEN' : 'UPSTASH_REDIS_REST_URL'
    throw new Error(
      `${missing} is not set: set both of UPSTASH_REDIS_REST_URL and _TOKEN, or neither`,
    )
  }
  const hasProvider = Object.keys(variables).some((name) => name.endsWith('_API_KEY'))
  return {
    variables,
    hasRedis: Boolean(url) && STORE !== 'objects',
    // A budget of dollars must not begin afresh with each start.
    state: hasProvider ? STATE : undefined,
  }
}
