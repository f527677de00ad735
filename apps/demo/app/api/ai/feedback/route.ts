import { modelRoute } from '../../../../lib/model/model-route'

export const POST = modelRoute({
  stream: true,
  instructions: 'Give the author kind and specific feedback in two or three sentences.',
  sample:
    'Your opening says at once what the reader gains, which is good. The middle part repeats itself, so try to make one point in each paragraph.',
})
