#!/usr/bin/env node
// Stands apart from the build, because npm links a command only if its file is there at install time.
import '../dist/main.js'
