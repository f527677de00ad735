import {
  computed,
  defineComponent,
  h,
  nextTick,
  onBeforeUnmount,
  onMounted,
  reactive,
  ref,
  useId,
} from 'vue'

/** The reader's choice of each family of tabs, such as a framework: the same in all groups and on all pages. */
const choices = reactive<Record<string, string>>({})
const keyOf = (family: string): string => `sluice-${family}`

function choose(family: string, name: string): void {
  choices[family] = name
  try {
    localStorage.setItem(keyOf(family), name)
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
}

function recall(family: string): void {
  try {
    const name = localStorage.getItem(keyOf(family))
    if (name !== null) choices[family] ??= name
  } catch {
    // As above.
  }
}

/** Panels of which one is shown. Without JavaScript, all are. */
export const PageTabs = defineComponent({
  props: {
    family: { type: String, required: true },
    names: { type: Array<string>, required: true },
    ids: { type: Array<string>, default: () => [] },
  },
  setup({ family, names, ids }, { slots }) {
    const id = useId()
    const root = ref<HTMLElement>()
    const chosen = computed(() => Math.max(0, names.indexOf(choices[family] ?? '')))

    /** Shows the panel that the address leads to. */
    async function followHash(): Promise<void> {
      const target = decoded(location.hash.slice(1))
      const index = target === '' ? -1 : panelWith(target)
      const name = names[index]
      if (name === undefined) return
      choices[family] = name
      await nextTick()
      const element = document.getElementById(target)
      const isShown = element && element.offsetParent !== null
      requestAnimationFrame(() => (isShown ? element : root.value)?.scrollIntoView())
    }
    const onHash = (): void => void followHash()
    function panelWith(target: string): number {
      if (ids.includes(target)) return ids.indexOf(target)
      const panels = Array.from(root.value?.querySelectorAll(':scope > [role=tabpanel]') ?? [])
      return panels.findIndex((panel) => panel.querySelector(`[id="${CSS.escape(target)}"]`))
    }
    onMounted(() => {
      recall(family)
      if (ids.length > 0) onHash()
      window.addEventListener('hashchange', onHash)
    })
    onBeforeUnmount(() => window.removeEventListener('hashchange', onHash))

    function onKeydown(event: KeyboardEvent): void {
      const last = names.length - 1
      const next = {
        ArrowLeft: chosen.value === 0 ? last : chosen.value - 1,
        ArrowRight: chosen.value === last ? 0 : chosen.value + 1,
        Home: 0,
        End: last,
      }[event.key]
      if (next === undefined) return
      event.preventDefault()
      choose(family, names[next] ?? '')
      document.getElementById(`${id}-tab-${next}`)?.focus()
    }

    const tab = (name: string, index: number) =>
      h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `${id}-tab-${index}`,
          'aria-selected': index === chosen.value,
          'aria-controls': `${id}-panel-${index}`,
          tabindex: index === chosen.value ? 0 : -1,
          onClick: () => choose(family, name),
        },
        name,
      )
    const panel = (_name: string, index: number) =>
      h(
        'div',
        {
          role: 'tabpanel',
          id: `${id}-panel-${index}`,
          'aria-labelledby': `${id}-tab-${index}`,
          'data-chosen': index === chosen.value ? '' : undefined,
        },
        slots[`tab-${index}`]?.(),
      )
    return () =>
      h('div', { class: ['page-tabs', `of-${family}`], ref: root }, [
        h('div', { role: 'tablist', 'aria-label': labelOf(family), onKeydown }, names.map(tab)),
        ...names.map(panel),
      ])
  },
})

/** Returns the anchor of an address; none of one that nobody has encoded. */
function decoded(anchor: string): string {
  try {
    return decodeURIComponent(anchor)
  } catch {
    return ''
  }
}

const labelOf = (family: string): string => family[0]?.toUpperCase() + family.slice(1)
