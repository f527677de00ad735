import { dashboardHandler } from '@sluice/dashboard'
import { dashboard } from '../../../limits'

export const GET = dashboardHandler(dashboard, { authorize: () => true })
