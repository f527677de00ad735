import { useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineComponent, h, nextTick, onMounted, watch } from 'vue'
import { CopiedStatus } from './copied-status.ts'
import { CopyPage } from './copy-page.ts'

/** The theme's layout, with a button that copies the page: beside it, or above it where nothing is beside. */
export const Layout = defineComponent({
  setup() {
    const route = useRoute()
    onMounted(showActiveItem)
    watch(() => route.path, showActiveItem)
    return () =>
      h(DefaultTheme.Layout, null, {
        'aside-outline-before': () => h(CopyPage),
        'doc-before': () => h(CopyPage, { class: 'above' }),
        'doc-after': () => h(CopiedStatus),
      })
  },
})

/** Scrolls the menu to the item of the page, unless it is in sight. */
async function showActiveItem(): Promise<void> {
  // The theme marks the item when all is mounted.
  await nextTick()
  const menu = document.querySelector('.VPSidebar')
  const items = menu?.querySelectorAll('.VPSidebarItem.is-active > .item') ?? []
  const item = Array.from(items).at(-1)
  if (!menu || !item) return
  const [seen, place] = [menu.getBoundingClientRect(), item.getBoundingClientRect()]
  // The bar of the site hides the menu's head.
  const isInSight = place.top > seen.top + 64 && place.bottom < seen.bottom
  if (!isInSight) menu.scrollTop += place.top - seen.top - seen.height / 2
}
