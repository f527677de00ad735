// Removes build output: `tsc` keeps that of renamed and deleted files, and it would ship.
import { rmSync } from 'node:fs'

for (const path of process.argv.slice(2)) rmSync(path, { recursive: true, force: true })
