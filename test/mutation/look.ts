/* `node test/mutation/look.ts 20`: lives through worlds for so many seconds, up to the first violation. */
import { World } from '../world/world.ts'

const endsAt = performance.now() + Number(process.argv[2]) * 1_000
for (let seed = 1; performance.now() < endsAt; seed += 1) {
  // One world after another, as each is on one core.
  // oxlint-disable-next-line no-await-in-loop
  const { violations } = await World.run(seed, { decisions: 2_000 })
  if (violations.length > 0) {
    console.log(`seed ${seed}: ${violations[0]}`)
    process.exit(1)
  }
}
