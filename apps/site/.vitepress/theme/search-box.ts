const BOX = 'body > .VPLocalSearchBox'

/**
 * Mends the theme's search box for screen readers: it says that it is a button, in which other buttons are, and that each
 * result is an option, in which a link is. It becomes a dialog, and each link an option.
 */
export function mendSearchBox(): void {
  // Before the theme, which takes the box away.
  for (const type of ['keydown', 'click'])
    window.addEventListener(type, focusButtonOnClose, { capture: true })
  // The theme puts the box into the body when it opens.
  new MutationObserver(() => {
    const box = document.querySelector(`${BOX}[role=button]`)
    if (!box) return
    box.setAttribute('role', 'dialog')
    box.setAttribute('aria-modal', 'true')
    box.setAttribute('aria-label', 'Search')
    for (const name of ['aria-expanded', 'aria-haspopup', 'aria-labelledby'])
      box.removeAttribute(name)
    // An element without a role has no name.
    for (const key of box.querySelectorAll('kbd')) key.setAttribute('role', 'img')
    mendResults(box)
    new MutationObserver(() => mendResults(box)).observe(box, {
      childList: true,
      subtree: true,
      attributeFilter: ['id', 'aria-selected', 'aria-label'],
    })
  }).observe(document.body, { childList: true })
}

/** A reader who closes the box without a choice would be at the beginning of the page. */
function focusButtonOnClose(event: Event): void {
  const { target } = event
  const isClosed =
    'key' in event
      ? event.key === 'Escape' && document.querySelector(BOX)
      : target instanceof Element && target.closest(`${BOX} :is(.backdrop, .back-button)`)
  if (!isClosed) return
  // The box is gone when the timer runs.
  setTimeout(() => document.querySelector<HTMLElement>('#local-search button')?.focus())
}

function mendResults(box: Element): void {
  for (const item of box.querySelectorAll('.results > li')) {
    const link = item.querySelector('a')
    if (!link) continue
    item.setAttribute('role', 'presentation')
    link.setAttribute('role', 'option')
    // The link has a name of its own: its text.
    link.removeAttribute('aria-label')
    item.querySelector('.title-icon')?.setAttribute('aria-hidden', 'true')
    for (const name of ['id', 'aria-selected']) moveAttribute(name, item, link)
  }
}

/** The theme sets an attribute again when it has changed. */
function moveAttribute(name: string, from: Element, to: Element): void {
  const value = from.getAttribute(name)
  if (value === null) return
  from.removeAttribute(name)
  to.setAttribute(name, value)
}
