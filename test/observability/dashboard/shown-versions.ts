import type { View } from '@sluice/dashboard'
import type { Browser, Page } from 'playwright-core'

/** The counts of a tenant, by the id of the version. */
export type Versions = ReadonlyMap<string, Counts>

interface Counts {
  readonly allowed: number
  readonly denied: number
}

interface Recording {
  readonly versions: { readonly tenant: string; readonly id: string; readonly counts: Counts }[]
}

/** Opens the dashboard, and records which figures it shows at which version of the server's counts. */
export async function openRecorded(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage()
  await page.addInitScript(recordVersions)
  await page.goto(`${url}/dashboard`)
  await page.getByText('Live', { exact: true }).waitFor()
  return page
}

/** Returns the figures of a tenant that the page has shown. */
export async function shownVersions(page: Page, tenant: string): Promise<Versions> {
  const versions = await page.evaluate(
    () => (globalThis as unknown as { recording: Recording }).recording.versions,
  )
  const ofTenant = versions.filter((version) => version.tenant === tenant)
  return new Map(ofTenant.map(({ id, counts }) => [id, counts]))
}

/** Runs in the page: reads the figures once what an event said is drawn, unless another event has come. */
function recordVersions(): void {
  const recording: Recording = { versions: [] }
  Object.assign(globalThis, { recording })
  let latest = ''
  const onEvent = (event: MessageEvent): void => {
    const id = (latest = event.lastEventId)
    const read = (): void => {
      if (id !== latest) return
      const tenant = document.querySelector('.sluice-figures')?.ariaLabel ?? ''
      const figures = [...document.querySelectorAll('.sluice-figure')].map((figure) => {
        const text = figure.querySelector('strong')?.textContent ?? ''
        return [figure.querySelector('dt')?.textContent, Number(text.replaceAll(',', ''))] as const
      })
      const { Allowed: allowed = NaN, Denied: denied = NaN } = Object.fromEntries(figures)
      const counts = { allowed, denied }
      recording.versions.push({ tenant, id, counts })
    }
    // React has drawn in the frame after the next.
    requestAnimationFrame(() => requestAnimationFrame(read))
  }
  const Original = EventSource
  globalThis.EventSource = class extends Original {
    constructor(address: string | URL) {
      super(address)
      this.addEventListener('snapshot', onEvent)
      this.addEventListener('update', onEvent)
    }
  }
}

/** Asks the server again and again, until `isOver`. Returns its counts of a tenant, by the id of their version. */
export async function serverVersions(
  url: string,
  tenant: string,
  isOver: () => boolean,
): Promise<Versions> {
  const versions = new Map<string, Counts>()
  while (!isOver()) {
    const { id, view } = await snapshot(url)
    const found = view.tenants.find((one) => one.tenant === tenant)
    versions.set(id, { allowed: found?.allowed ?? 0, denied: found?.denied ?? 0 })
  }
  return versions
}

/** Reads the first event of a new stream: all that the server has counted. */
async function snapshot(url: string): Promise<{ readonly id: string; readonly view: View }> {
  const response = await fetch(`${url}/api/dashboard`)
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const [, id, data] = /^id: (.*)\nevent: snapshot\ndata: (.*)\n\n/m.exec(text) ?? []
    // To leave the loop ends the stream.
    if (id !== undefined && data !== undefined) return { id, view: JSON.parse(data) as View }
  }
  throw new Error(`The stream has ended: ${text}`)
}
