import type { NextConfig } from 'next'

const config: NextConfig = { poweredByHeader: false, experimental: { cpus: 1 } }

export default config
