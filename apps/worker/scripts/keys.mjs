// Creates, lists and revokes the virtual keys of the gateway.
import { parseArgs } from 'node:util'
import { loadSettings } from './settings.mjs'

const HELP = `Usage: npm run gateway:keys -- <command>

  create --tenant <name> --plan <plan>  create a key, and show it once; with --team and --user,
                                        it counts on their budgets, too
  list                                  list the keys: id, tenant, plan, time of creation
  revoke <id>                           revoke a key: it stops working within 5 seconds

The keys are in the Redis at UPSTASH_REDIS_REST_URL, with the token UPSTASH_REDIS_REST_TOKEN.
Both may be in apps/worker/.dev.vars.`

const TIMEOUT_MS = 10_000

const COMMANDS = {
  async create(store, values) {
    const { key, id, tenant, plan } = await store.create(values)
    console.log(`${key}\n\nThis is the only time that you see this key.`)
    console.log(`Its id is ${id}, its tenant ${tenant}, its plan ${plan}.`)
  },
  async list(store) {
    const rows = await store.list()
    if (rows.length === 0) console.log('There are no keys.')
    for (const { id, tenant, plan, created } of rows) {
      console.log([id, tenant, plan, created].join('  '))
    }
  },
  async revoke(store, _values, id) {
    await store.revoke(id)
    console.log(`${id} is revoked. It stops working within 5 seconds.`)
  },
}

try {
  await run()
} catch (error) {
  const isUnbuilt = error.code === 'ERR_MODULE_NOT_FOUND'
  console.error(isUnbuilt ? 'Run "npm run build:packages" first.' : error.message)
  process.exit(1)
}

async function run() {
  const options = {
    tenant: { type: 'string' },
    team: { type: 'string' },
    user: { type: 'string' },
    plan: { type: 'string' },
    help: { type: 'boolean' },
  }
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const [command, id, ...rest] = positionals
  if (values.help) return console.log(HELP)
  if (!Object.hasOwn(COMMANDS, command ?? '') || rest.length > 0) throw new Error(HELP)
  if ((command === 'revoke') !== (id !== undefined)) throw new Error(HELP)
  loadSettings()
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env
  if (!url || !token) throw new Error('Set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN.')
  // Imported only now, so that an unbuilt package gets a message of its own.
  const { keyStore } = await import('./key-store.mjs')
  return COMMANDS[command](keyStore({ url, token, timeoutMs: TIMEOUT_MS }), values, id)
}
