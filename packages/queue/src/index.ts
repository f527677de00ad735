// Queues
export { limitedQueue } from './limited-queue.ts'
export type { AddedJob, AddOptions, LimitedQueue, LimitedQueueOptions } from './options.ts'

// Jobs
export { work } from './work.ts'
export type { Worker, WorkOptions } from './options.ts'
export type { Handler } from './running-job.ts'
export { JobError, type Job, type JobErrorOptions, type FailedJob } from './job.ts'

// The content of a queue
export { countJobs, failedJobs, removeJobs, retryJobs } from './administer.ts'
export type { FailedJobsOptions, JobCounts } from './administer.ts'
