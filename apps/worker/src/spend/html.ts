import { escapeHtml } from '@sluice/dashboard/page'

/** Markup that needs no escaping. */
export interface Html {
  readonly html: string
}

type Value = string | number | Html | readonly Html[]

/** Creates markup. Texts in it are escaped; false values are to be `''`. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.map((part, at) => part + markupOf(values[at] ?? '')).join('') }
}

function markupOf(value: Value): string {
  if (typeof value === 'object')
    return 'html' in value ? value.html : value.map((one) => one.html).join('')
  return escapeHtml(String(value))
}
