/** The look of the dashboard: cards, figures, tables and meters, within an element of the class `sluice`. */
export const PAGE_STYLE: string = `
.sluice {
  --sluice-card: light-dark(#ffffff, #1a2027);
  --sluice-line: light-dark(#dde3e9, #313b46);
  --sluice-text: light-dark(#17202a, #e8edf2);
  --sluice-soft: light-dark(#55616d, #a3b0bc);
  --sluice-accent: light-dark(#0b62bb, #58a9ff);
  --sluice-good: light-dark(#17703f, #4cc38a);
  --sluice-warn: light-dark(#96450a, #f5a94b);
  --sluice-bad: light-dark(#b3261e, #ff8a80);
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 12px;
  color: var(--sluice-text);
  font: 15px/1.45 system-ui, sans-serif;
  font-variant-numeric: tabular-nums;
}
.sluice :is(h3, p, ul, dl, dd, figure) { margin: 0; padding: 0; list-style: none; }
.sluice h3 { font-size: 15px; font-weight: 600; }
.sluice .sluice-headline { font-size: 20px; font-weight: 600; letter-spacing: -0.01em; line-height: 1.3; }
.sluice-bar { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; }
:is(.sluice-bar, .sluice-ask) label { display: flex; gap: 8px; align-items: center; margin: 0; color: var(--sluice-soft); font-size: 13px; }
:is(.sluice-bar, .sluice-ask) :is(select, input, button) { width: auto; margin: 0; padding: 6px 8px; border: 1px solid var(--sluice-line); border-radius: 8px; background: var(--sluice-card); color: var(--sluice-text); font: inherit; }
.sluice-ask { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 8px 0; }
.sluice .sluice-ask input { width: 150px; min-width: 0; }
.sluice .sluice-ask button { color: var(--sluice-accent); font-weight: 600; cursor: pointer; }
.sluice .sluice-answer { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13.5px; }
.sluice-health { display: flex; flex: 1 1 260px; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; }
.sluice-state::before { content: ''; display: inline-block; width: 9px; height: 9px; margin-right: 7px; border-radius: 50%; background: var(--sluice-soft); }
:is(.sluice-live, .sluice-store-answering)::before { background: var(--sluice-good); }
:is(.sluice-lost, .sluice-store-failing) { color: var(--sluice-bad); font-weight: 600; }
:is(.sluice-lost, .sluice-store-failing)::before { border-radius: 0; background: var(--sluice-bad); }
:is(.sluice-figure, .sluice-chart, .sluice-card) { min-width: 0; padding: 14px 16px; border: 1px solid var(--sluice-line); border-radius: 12px; background: var(--sluice-card); }
.sluice .sluice-figure, .sluice .sluice-chart { padding: 14px 16px; }
.sluice-figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; }
.sluice-figure dt { color: var(--sluice-soft); font-size: 13px; }
.sluice-figure strong { display: block; font-size: 26px; line-height: 1.25; letter-spacing: -0.01em; }
.sluice-figure span { display: block; color: var(--sluice-soft); font-size: 12.5px; }
.sluice-good strong { color: var(--sluice-good); }
.sluice-bad strong { color: var(--sluice-bad); }
.sluice-warn strong { color: var(--sluice-warn); }
.sluice-share { display: block; height: 5px; margin-top: 6px; border-radius: 3px; background: var(--sluice-line); overflow: hidden; }
.sluice-share i { display: block; height: 100%; background: var(--sluice-accent); }
.sluice-charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); gap: 12px; }
.sluice-chart figcaption { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; justify-content: space-between; min-height: 42px; }
.sluice-legend { display: flex; flex-wrap: wrap; gap: 0 12px; color: var(--sluice-soft); font-size: 12.5px; }
.sluice-legend i { display: inline-block; width: 20px; height: 11px; margin-right: 6px; border-top: 3px solid; vertical-align: middle; }
.sluice-legend i:not([class]) { height: 3px; }
.sluice-legend .sluice-plain { background: color-mix(in srgb, currentColor 18%, transparent); }
.sluice-legend .sluice-hatched { background: repeating-linear-gradient(-45deg, currentColor 0 1px, transparent 1px 5px); }
.sluice-plot { height: 190px; }
.sluice-plot :is(.u-wrap, .u-over, .u-under) { position: absolute; overflow: hidden; }
.sluice-plot .uplot, .sluice-plot .u-wrap { position: relative; user-select: none; }
.sluice-plot canvas { display: block; position: relative; width: 100%; height: 100%; }
.sluice-table { margin-top: 6px; color: var(--sluice-soft); font-size: 12.5px; }
.sluice-table summary { cursor: pointer; }
.sluice table { width: 100%; border-collapse: collapse; font-size: 13.5px; }
.sluice .sluice-table table { font-size: 12.5px; }
.sluice :is(th, td) { padding: 6px 8px; border-top: 1px solid var(--sluice-line); text-align: right; font-weight: 400; white-space: nowrap; }
.sluice thead th { border-top: 0; color: var(--sluice-soft); font-size: 12.5px; }
.sluice :is(th:first-child, .sluice-text) { padding-left: 0; text-align: left; }
.sluice :is(thead th:nth-child(2)) { text-align: left; }
.sluice .sluice-table thead th:nth-child(2) { text-align: right; }
.sluice th button { padding: 2px 6px; border: 1px solid transparent; border-radius: 6px; background: none; color: var(--sluice-accent); font: inherit; font-weight: 600; cursor: pointer; }
.sluice-chosen th button { border-color: var(--sluice-accent); }
.sluice-denied { color: var(--sluice-bad); font-weight: 600; }
.sluice-scroll { margin-top: 8px; overflow-x: auto; }
.sluice-columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 12px; }
.sluice-hint { color: var(--sluice-soft); font-size: 12.5px; }
.sluice .sluice-limits { display: grid; gap: 12px; margin-top: 10px; }
.sluice-limit { display: flex; flex-wrap: wrap; gap: 0 12px; justify-content: space-between; font-size: 13.5px; }
.sluice code { color: var(--sluice-soft); font: 12px ui-monospace, 'DejaVu Sans Mono', monospace; }
.sluice-meter { height: 8px; margin: 4px 0; border-radius: 4px; background: var(--sluice-line); overflow: hidden; }
.sluice-meter div { height: 100%; background: var(--sluice-accent); }
.sluice-full div { background: var(--sluice-bad); }
.sluice-stack { display: flex; flex-direction: column; gap: 12px; }
.sluice-stack > :last-child { flex: 1; }
.sluice .sluice-findings { display: grid; gap: 6px; margin-top: 6px; font-size: 13.5px; overflow-wrap: anywhere; }
.sluice-problems { margin-top: 6px; font-size: 13px; overflow-wrap: anywhere; }
.sluice-problems time { color: var(--sluice-soft); }
.sluice :is(select, input, button, summary, .sluice-scroll):focus-visible { outline: 2px solid var(--sluice-accent); outline-offset: 2px; }
@media (prefers-reduced-motion: no-preference) {
  .sluice :is(.sluice-share i, .sluice-meter div) { transition: width 0.2s; }
}
@media (max-width: 820px) {
  .sluice .sluice-scroll table { font-size: 13px; }
  .sluice-columns { grid-template-columns: minmax(0, 1fr); }
  .sluice-figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .sluice-figure strong { font-size: 21px; }
  .sluice-figure:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .sluice .sluice-minor { display: none; }
  .sluice :is(th, td) { padding: 6px 4px; }
}
`
