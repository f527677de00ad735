// Builds the demo, starts it with a store and, with --drive, sends traffic through it.
import { drive } from './drive/drive.mjs'
import { HELP, parseOptions } from './options.mjs'
import { build, startStack } from './stack.mjs'

const options = await orFail(
  () => parseOptions(process.argv.slice(2), process.env),
  '\n"npm run demo -- --help" lists the options.',
)
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
let stack
let stopping
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, () => {
    // Processes that are still starting end with this one.
    if (!stack) process.exit(code)
    // Ending the demo by hand is a success; an interrupted drive has not checked everything.
    void stop().then(() => process.exit(options.drive ? code : 0))
  })
}
if (options.build) {
  console.log('Building the demo …')
  await orFail(build)
}
stack = await orFail(() => startStack(options))

if (options.drive) {
  console.log(`Driving ${stack.url}, with ${stack.engine}.\n`)
  const succeeded = await drive(stack).catch((error) => {
    console.error(error)
    return false
  })
  await stop()
  process.exit(succeeded ? 0 : 1)
}
console.log(`
  ${stack.url}

  The store is ${stack.engine}.
  Open the page, start a runaway agent, and watch its budget stop it. Then a retry storm, a bulk
  import, a scraper, a Redis that is down, midnight, and a budget that falls: each as often as you
  like.
  "200 streams on $1.00" shows what other ways to hold a budget let through and refuse.
  "npm run demo -- --drive" sends such traffic for you, and checks the results.
  Ctrl-C ends everything.
`)
await stack.ended
if (!stopping) {
  await stop()
  fail('The demo ended unexpectedly.')
}

function stop() {
  stopping ??= stack.stop()
  return stopping
}

async function orFail(work, hint = '') {
  try {
    return await work()
  } catch (error) {
    return fail(error.message + hint)
  }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
