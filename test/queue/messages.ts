/* Messages of Cloudflare Queues that note what is done with them. */
import type { LimitedConsumerOptions } from '@sluice/queue/cloudflare'
import { vi } from 'vitest'

export interface Job {
  readonly tenant: string
  readonly cost?: number
}

export const options: LimitedConsumerOptions<object, Job> = {
  subject: ({ body }: { body: Job }) => ({ tenant: body.tenant }),
  cost: ({ body }: { body: Job }) => body.cost ?? 1,
}

let sent = 0

/** A message that notes what is done with it. */
export function message(tenant: string, cost?: number) {
  sent += 1
  return {
    id: `message-${sent}`,
    body: { tenant, ...(cost === undefined ? {} : { cost }) },
    attempts: 1,
    ack: vi.fn<() => void>(),
    retry: vi.fn<(options?: { delaySeconds: number }) => void>(),
  }
}
