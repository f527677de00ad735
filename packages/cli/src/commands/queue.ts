import { durationText, subjectText, timeText } from '@sluice/core/internal/text'
import type { FailedJob, JobCounts } from '@sluice/queue'
import { countOf, type Command } from '../command.ts'
import { installed, refuse } from '../errors.ts'
import { moreText, table } from '../format.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'

export const queue: Command = {
  summary: 'the jobs of a queue, and why the last have failed',
  usage: `Usage: sluice queue NAME [--top N] [options]

Counts the jobs of limitedQueue(limiter, { name: NAME }), tells how long the oldest has waited, and lists those that
have failed for good, the latest first. Nothing is changed.

  --top N               the most failed jobs to list (default: 20)
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, [name, ...others], { folder }) {
    if (name === undefined || others.length > 0)
      refuse('queue takes the name of one queue, such as sluice queue summaries')
    const top = countOf(values, 'top', 20)
    const { limiter } = await limiterFor(values, folder)
    const { countJobs, failedJobs, limitedQueue } = await installed(
      '@sluice/queue',
      () => import('@sluice/queue'),
    )
    const found = limitedQueue(limiter, { name })
    const counts = await countJobs(found)
    const count = Math.min(top, 1_000)
    const from = Math.max(0, counts.failed - count)
    const failed = (await failedJobs(found, { from, count })).toReversed()
    return {
      text: queueText(counts, failed, top),
      json: { queue: name, ...counts, failedJobs: failed },
    }
  },
}

function queueText(
  { waiting, delayed, running, failed, oldestMs }: JobCounts,
  jobs: readonly FailedJob[],
  top: number,
): string {
  const counts = [waiting, delayed, running, failed].map(String)
  const oldest = waiting > 0 ? durationText(oldestMs) : ''
  const head = ['waiting', 'delayed', 'running', 'failed', 'oldest waits for']
  const rows = jobs.map(({ id, subject, attempts, failedAt, why, error }) => [
    timeText(failedAt),
    id,
    subjectText(subject as Readonly<Record<string, string>>),
    String(attempts),
    why.replaceAll('_', ' '),
    error,
  ])
  return [
    table(head, [[...counts, oldest]]),
    ...(rows.length > 0
      ? ['', table(['failed at', 'id', 'subject', 'attempts', 'why', 'error'], rows)]
      : []),
    ...moreText(failed, top),
  ].join('\n')
}
