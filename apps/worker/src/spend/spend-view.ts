import { html, type Html } from './html.ts'
import { groupsOf, totalOf, type SpendGroup, type SpendRows } from './read-spend.ts'
import { datesOf, type Name, type SpendQuery } from './query.ts'
import { countOf, dollarsOf, TITLES } from './words.ts'

/** The most lines of the table. CSV has all. */
const MAX_LINES = 100

/** Returns the figures of a time, its days and the groups that were asked for as markup. */
export function spendView(query: SpendQuery, { lists, notes }: SpendRows): Html {
  const { first, last, by } = query
  const [rows = [], ofDays = []] = lists
  const total = totalOf(rows)
  if (total.requests + total.denied + total.unavailable === 0) {
    return html`<p class="sluice-card">Nothing is recorded from ${first} to ${last}.</p>`
  }
  return html`<dl class="sluice-figures">
      ${figure('Spent', dollarsOf(total.usd))} ${figure('Requests', countOf(total.requests))}
      ${figure('Tokens', countOf(total.tokens))} ${figure('Denied', countOf(total.denied))}
    </dl>
    ${daysView(query, groupsOf(ofDays, ['day']))} ${tableView(groupsOf(rows, by), by, total.usd)}
    ${notes.map((note) => html`<p class="sluice-hint">${note}</p>`)}`
}

const figure = (name: string, value: string): Html =>
  html`<div class="sluice-figure">
    <dt>${name}</dt>
    <dd><strong>${value}</strong></dd>
  </div>`

/** Draws the dollars of each day. The table beside it has the same. */
function daysView(query: SpendQuery, groups: readonly SpendGroup[]): Html {
  const { first, last, zone = 'UTC' } = query
  const spent = new Map(groups.map(({ names, usd }) => [names.day, usd]))
  const days = datesOf(query).map((day) => ({ day, usd: spent.get(day) ?? 0 }))
  const most = Math.max(...days.map(({ usd }) => usd))
  const best = days.find(({ usd }) => usd === most)
  const summary = best && most > 0 ? `The most on ${best.day}: ${dollarsOf(most)}` : 'Nothing spent'
  const bars = days.map(({ day, usd }, at) => {
    const height = most > 0 ? (100 * Math.max(0, usd)) / most : 0
    return html`<rect x="${at + 0.1}" width="0.8" y="${100 - height}" height="${height}"
      ><title>${day}: ${dollarsOf(usd)}</title></rect
    >`
  })
  return html`<figure class="sluice-chart">
    <figcaption>
      <h3>Spent by day (${zone})</h3>
      <span class="sluice-hint">${summary}</span>
    </figcaption>
    <svg
      class="spend-days"
      viewBox="0 0 ${days.length} 100"
      preserveAspectRatio="none"
      role="img"
      aria-label="Dollars of each day. ${summary}."
    >
      ${bars}
    </svg>
    <p class="spend-axis sluice-hint"><span>${first}</span><span>${last}</span></p>
    <details class="sluice-table">
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Spent</th>
          </tr>
        </thead>
        <tbody>
          ${days.map(
            ({ day, usd }) =>
              html`<tr>
                <th scope="row">${day}</th>
                <td>${dollarsOf(usd)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`
}

/** The names of those who have limits. */
const MEMBERS: readonly Name[] = ['tenant', 'team', 'user', 'key']

function tableView(groups: readonly SpendGroup[], by: readonly Name[], usd: number): Html {
  const names = by.map(
    (name) => html`<th scope="col" class="sluice-text">${TITLES[name]?.[0] ?? name}</th>`,
  )
  const numbers = ['Spent', 'Share', 'Requests', 'Denied', 'Tokens'].map(
    (head) => html`<th scope="col" class="${MINOR.has(head) ? 'sluice-minor' : ''}">${head}</th>`,
  )
  const shown = groups.slice(0, MAX_LINES)
  const more = groups.length - shown.length
  const label = by.map((name) => TITLES[name]?.[0].toLowerCase() ?? name).join(', ')
  return html`<section class="sluice-card" aria-labelledby="groups">
    <h3 id="groups">Spent by ${label}</h3>
    <div
      class="sluice-scroll"
      tabindex="0"
      role="group"
      aria-label="Spent by ${label}, a table to scroll"
    >
      <table>
        <thead>
          <tr>
            ${names} ${numbers}
          </tr>
        </thead>
        <tbody>
          ${shown.map((group) => line(group, by, usd))}
        </tbody>
      </table>
    </div>
    ${more > 0 ? html`<p class="sluice-hint">${countOf(more)} more are in the CSV file.</p>` : ''}
  </section>`
}

const MINOR: ReadonlySet<string> = new Set(['Share', 'Tokens'])

function line({ names, ...spend }: SpendGroup, by: readonly Name[], all: number): Html {
  const share = all > 0 ? Math.round((100 * spend.usd) / all) : 0
  const member = by.findLast((name) => MEMBERS.includes(name) && names[name] !== '')
  const cells = by.map((name, at) => {
    const text = names[name] || TITLES[name]?.[1] || ''
    const content = name === member ? nameCell(names, by, text) : html`${text}`
    return at === 0
      ? html`<th scope="row">${content}</th>`
      : html`<td class="sluice-text">${content}</td>`
  })
  return html`<tr>
    ${cells}
    <td>${dollarsOf(spend.usd)}</td>
    <td class="sluice-minor">${share} %</td>
    <td>${countOf(spend.requests)}</td>
    <td class="${spend.denied > 0 ? 'sluice-denied' : ''}">${countOf(spend.denied)}</td>
    <td class="sluice-minor">${countOf(spend.tokens)}</td>
  </tr>`
}

/** A member of a known organisation is a button that shows its limits. */
function nameCell(names: SpendGroup['names'], by: readonly Name[], text: string): Html {
  const { tenant = '' } = names
  if (tenant === '' || tenant.startsWith('(')) return html`${text}`
  const known = MEMBERS.filter((name) => by.includes(name) && names[name] !== '')
  const member = new URLSearchParams(known.map((name) => [name, names[name] ?? '']))
  return html`<button type="button" data-limits="${member.toString()}">${text}</button>`
}
