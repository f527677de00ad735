import { expect, it } from 'vitest'
import { questionIn } from '../../../packages/dashboard/dist/react/question.js'
import { setup } from '../support.ts'

function formOf(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

it('the first question is about the limiter, route and plan that have denied most', async () => {
  const { dashboard, limiter } = setup()
  const cost = { token: 1, usd: 1 }
  await limiter.check({ tenant: 'acme', route: 'ask' }, { cost })
  for (let count = 0; count < 7; count += 1) {
    await limiter.check({ tenant: 'acme', route: 'chat' }, { cost: { ...cost, call: 0 } })
  }
  const { tenants } = dashboard.view()
  expect(questionIn(formOf({ tenant: ' acme ', id: '' }), tenants, undefined)).toEqual({
    tenant: 'acme',
    limiter: 'chat',
    subject: { route: 'chat' },
  })
  const next = { tenant: 'new', id: 'req_7', limiter: 'chat', 'subject.plan': 'starter' }
  // The plan in the form is that of another tenant.
  expect(questionIn(formOf(next), tenants, 'acme')).toEqual({ tenant: 'new', id: 'req_7' })
})

it('later ones are what the form says: dollars become micro-dollars, and what is empty is left out', () => {
  const form = formOf({
    tenant: 'acme',
    limiter: 'api',
    'subject.route': 'chat',
    'subject.plan': '',
    'cost.token': '22',
    'cost.usd': '0.05',
    'cost.request': '',
  })
  expect(questionIn(form, [], 'acme')).toEqual({
    tenant: 'acme',
    limiter: 'api',
    subject: { route: 'chat' },
    cost: { token: 22, usd: 50_000 },
  })
})
