import type { Table } from './text-table.ts'
import { escapeHtml } from './escape-html.ts'

/** Writes a table. A wide one scrolls by itself, also with the keyboard. */
export function htmlTable({ head, rows }: Table, caption: string): string {
  const label = escapeHtml(caption)
  return `<div class="scroll" role="group" tabindex="0" aria-label="${label}"><table>
<caption>${label}</caption>
<thead><tr>${head.map(headCell).join('')}</tr></thead>
<tbody>
${rows.map((row) => `<tr>${row.map(bodyCell).join('')}</tr>`).join('\n')}
</tbody>
</table></div>`
}

const headCell = (name: string): string =>
  name === '' ? '<td></td>' : `<th scope="col">${escapeHtml(name)}</th>`

const bodyCell = (text: string, index: number): string =>
  index === 0 ? `<th scope="row">${escapeHtml(text)}</th>` : `<td>${escapeHtml(text)}</td>`
