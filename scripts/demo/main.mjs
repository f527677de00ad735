// Builds the demo, starts it with a store behind it, and drives traffic through it when asked to.
import { drive } from './drive/drive.mjs'
import { HELP, parseOptions } from './options.mjs'
import { build, startStack } from './stack.mjs'

const options = parse()
let stack
let stopping
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, () => {
    // What is still starting ends with this process.
    if (!stack) process.exit(code)
    // Ending the demo by hand is no failure; a drive that was cut short has checked nothing.
    void stop().then(() => process.exit(options.drive ? code : 0))
  })
}
stack = await start()

if (options.drive) {
  console.log(`Driving ${stack.url}, with ${stack.engine}.\n`)
  const held = await drive(stack).catch((error) => {
    console.error(error)
    return false
  })
  await stop()
  process.exit(held ? 0 : 1)
} else {
  console.log(`
  ${stack.url}

  The store is ${stack.engine}.
  Open the page, choose a tenant and a route, and send a burst of 25 to a limit of 20.
  Let an agent run away in the chat below, and watch its budget stop it.
  "npm run demo -- --drive" fires all that by itself, and checks what came out.
  Ctrl-C ends everything.
`)
  await stack.ended
  if (!stopping) {
    await stop()
    fail('The demo ended by itself.')
  }
}

function parse() {
  try {
    const parsed = parseOptions(process.argv.slice(2), process.env)
    if (parsed.help) {
      console.log(HELP)
      process.exit(0)
    }
    return parsed
  } catch (error) {
    return fail(`${error.message}\n"npm run demo -- --help" shows what there is.`)
  }
}

function stop() {
  stopping ??= stack.stop()
  return stopping
}

async function start() {
  try {
    if (options.build) {
      console.log('Building the demo …')
      await build()
    }
    return await startStack(options)
  } catch (error) {
    return fail(error.message)
  }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
