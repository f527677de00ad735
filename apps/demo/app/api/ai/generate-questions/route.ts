import { modelRoute } from '../../../../lib/model/model-route'

export const POST = modelRoute({
  stream: false,
  instructions: 'Write three short questions that test whether someone has understood the text.',
  sample:
    '1. What does the limiter count? 2. When does a window end? 3. Why does a denial write nothing?',
})
