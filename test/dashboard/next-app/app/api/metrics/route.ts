import { metricsHandler } from '@sluice/otel/prometheus'
import { limiter } from '../../../limits'

export const GET = metricsHandler(limiter)
// Or the build would keep the text of its own process.
export const dynamic = 'force-dynamic'
