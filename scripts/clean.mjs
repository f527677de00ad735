// `tsc` never removes the output of a file that was renamed or deleted; a stale one would ship.
import { rmSync } from 'node:fs'

for (const path of process.argv.slice(2)) rmSync(path, { recursive: true, force: true })
