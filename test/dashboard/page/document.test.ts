import { dashboardPage } from '@sluice/dashboard/page'
import { describe, expect, it } from 'vitest'

const policyOf = (response: Response): Map<string, string> =>
  new Map(
    response.headers
      .get('content-security-policy')
      ?.split('; ')
      .map((directive) => directive.split(/ (.*)/) as [string, string]),
  )

describe('dashboardPage', () => {
  it('is one document, whose script and styles have the nonce of its policy', async () => {
    const response = dashboardPage({ url: '/api/dashboard' })
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const nonce = /'nonce-([^']+)'/.exec(policyOf(response).get('script-src') ?? '')?.[1]
    const html = await response.text()
    expect(html.match(/<(?:script|style)\b[^>]*>/g)).toEqual([
      `<style nonce="${nonce}">`,
      `<script nonce="${nonce}">`,
    ])
    expect(html).toContain(`<div data-url="/api/dashboard" data-nonce="${nonce}"></div>`)
    expect(html).toContain('<title>Limits</title>')
    const next = dashboardPage({ url: '/api/dashboard' })
    expect(policyOf(next).get('script-src')).not.toContain(nonce)
  })

  it('allows its script no address but that of the stream', () => {
    const own = policyOf(dashboardPage({ url: '/api/dashboard' }))
    expect(Object.fromEntries(own)).toMatchObject({
      'default-src': "'none'",
      'connect-src': "'self'",
      'frame-ancestors': "'none'",
    })
    const other = policyOf(dashboardPage({ url: 'https://app.example/api/dashboard' }))
    expect(other.get('connect-src')).toBe('https://app.example')
  })

  it('has a script that ends where its element ends, with the licences of what is in it', async () => {
    const html = await dashboardPage({ url: '/' }).text()
    const [, script = ''] = html.split(/<script nonce="[^"]+">/)
    expect(script.length).toBeGreaterThan(100_000)
    expect(script.match(/<!--|<\/?script/gi)).toEqual(['</script'])
    expect(script).toContain('@license React')
    expect(script).toContain('/*! uPlot')
  })

  it('writes its options as text, not as markup', async () => {
    const mark = `"><img src=x onerror='alert(1)'>&`
    const html = await dashboardPage({ url: `/${mark}`, title: mark }).text()
    expect(html).not.toContain('<img')
    expect(html).toContain('<title>&quot;&gt;&lt;img')
    expect(html).toContain('data-url="/&quot;&gt;&lt;img')
  })

  it('refuses an unknown option and a missing address', () => {
    const misspelt = { url: '/', titel: 'x' }
    expect(() => dashboardPage(misspelt)).toThrow('titel')
    expect(() => dashboardPage({} as { url: string })).toThrow('dashboardPage.url')
  })
})
