import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

interface Form {
  name: string
  description: string
  body: { type: string; id?: string; attributes: { label?: string; value?: string } }[]
}

const folder = new URL('../../.github/ISSUE_TEMPLATE/', import.meta.url)
const forms = readdirSync(folder).filter((name) => name !== 'config.yml')

it.each(forms)('GitHub takes %s as a form', (name) => {
  const form = parse(readFileSync(new URL(name, folder), 'utf8')) as Form
  // GitHub shows no form, and says nothing, if any of these is missing or repeated.
  expect(form.name && form.description).toBeTruthy()
  const fields = form.body.filter(({ type }) => type !== 'markdown')
  expect(fields.length).toBeGreaterThan(0)
  for (const { type, attributes } of fields) {
    expect(['input', 'textarea', 'dropdown', 'checkboxes']).toContain(type)
    expect(attributes.label).toBeTruthy()
  }
  expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
})

it('an issue begins with a form, and vulnerabilities are sent elsewhere', () => {
  const config = readFileSync(new URL('config.yml', folder), 'utf8')
  expect(parse(config)).toEqual({ blank_issues_enabled: false })
  expect(readFileSync(new URL('bug.yml', folder), 'utf8')).toContain('SECURITY.md')
})
