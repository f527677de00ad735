import { DARK_RULES } from './svg.ts'

/** The style sheet of the page. */
export const STYLE: string = `:root{color-scheme:light dark;--text:#1f2328;--muted:#59636e;--line:#d8dee4;--paper:#ffffff;--link:#0969da}
body{margin:0;background:var(--paper);color:var(--text);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line);overflow-wrap:anywhere}
figure{margin:0 0 1.5rem}
figcaption,caption{font-weight:600;white-space:nowrap;text-align:left;padding:.25rem 0}
.scroll{overflow-x:auto;margin:0 0 1rem}
.scroll svg{display:block;max-width:100%;height:auto;min-width:32rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child{text-align:left}
thead th{color:var(--muted);font-weight:500}
tbody th{font-weight:400}
summary{cursor:pointer;color:var(--link);padding:.25rem 0}
details .scroll{max-height:24rem;overflow:auto}
@media (prefers-color-scheme:dark){
:root{--text:#e6edf3;--muted:#a5aeb8;--line:#2d333b;--paper:#0d1117;--link:#58a6ff}
${DARK_RULES}
}
@media print{details>*{display:block}.scroll{overflow:visible}}`
