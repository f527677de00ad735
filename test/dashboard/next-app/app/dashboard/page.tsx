'use client'

import { Dashboard } from '@sluice/dashboard/react'

export default function Page() {
  return <Dashboard url="/api/dashboard" />
}
