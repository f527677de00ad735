import type { TopLevelSpec } from 'vega-lite'
import type { SetReport } from '../simulation/report-types.ts'
import { count, percent } from './format.ts'
import { KIND_COLOUR, WIDTH, type Plot } from './plot.ts'
import { drawSvg } from './svg.ts'
import { TOP } from './tables.ts'

/** The width of the tenants' names. */
const NAMES_WIDTH = 120

/** Plots the tenants with the most denied calls. */
export async function plotTenants({ tenants }: SetReport): Promise<Plot> {
  const title = 'Tenants with the most denied calls'
  const top = tenants.slice(0, TOP)
  const values = top.flatMap(({ tenant, used, denied }) => [
    { tenant, kind: 'allowed', order: 1, calls: used.calls - denied.calls },
    { tenant, kind: 'denied', order: 0, calls: denied.calls },
  ])
  const spec: TopLevelSpec = {
    width: WIDTH - NAMES_WIDTH,
    height: { step: 24 },
    data: { values },
    mark: 'bar',
    encoding: {
      x: { field: 'calls', type: 'quantitative', stack: 'zero', title: 'calls' },
      y: { field: 'tenant', type: 'nominal', sort: null, title: null },
      color: KIND_COLOUR,
      order: { field: 'order' },
    },
  }
  const list = top.map(({ tenant, denied }) => `${tenant} ${count(denied.calls)}`).join(', ')
  return {
    title,
    svg: await drawSvg(spec, `${title}: ${list}.`),
    table: {
      head: ['tenant', 'calls allowed', 'calls denied', 'share denied'],
      rows: top.map(({ tenant, used, denied }) => [
        tenant,
        count(used.calls - denied.calls),
        count(denied.calls),
        percent(denied.calls, used.calls),
      ]),
    },
  }
}
