import { modelRoute } from '../../../../lib/model/model-route'

export const POST = modelRoute({
  stream: false,
  instructions: 'Ask one follow-up question that probes the weakest part of the answer.',
  sample:
    'You say that retries are safe: what if the first attempt succeeded and its reply was lost?',
})
