import { describeTarget } from './describe-target.ts'
import { startWorker } from './support/worker-app.ts'

describeTarget('the Worker, as wrangler bundles it, in workerd', startWorker)
