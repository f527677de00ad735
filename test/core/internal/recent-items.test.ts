import { expect, it, vi } from 'vitest'
import { RecentItems } from '../../../packages/core/src/internal/recent-items.ts'

/** Ten items, named by their numbers. */
function tenItems(): RecentItems<number> {
  const items = new RecentItems<number>(10)
  for (let item = 0; item < 10; item += 1) items.set(String(item), item)
  return items
}

it('keeps as many items as it may, and one that stays in use', () => {
  const items = tenItems()
  for (let added = 10; added < 1_000; added += 1) {
    expect(items.get('3')).toBe(3)
    items.set(String(added), added)
    expect(items.get(String(added))).toBe(added)
  }
  const kept = Array.from({ length: 1_000 }, (_, item) => items.get(String(item)))
  expect(kept.filter((item) => item !== undefined)).toHaveLength(10)
})

it('drops what is out of use first', () => {
  const items = tenItems()
  for (let time = 0; time < 20; time += 1) {
    for (const key of ['0', '2', '4', '6', '8']) items.get(key)
  }
  for (let added = 10; added < 15; added += 1) items.set(String(added), added)
  const kept = Array.from({ length: 10 }, (_, item) => items.get(String(item)))
  expect(kept.filter((item) => item !== undefined)).toEqual([0, 2, 4, 6, 8])
})

it('replaces an item, and forgets one', () => {
  const items = tenItems()
  items.set('0', 7)
  expect(items.get('0')).toBe(7)
  items.delete('0')
  expect(items.get('0')).toBeUndefined()
  items.set('more', 10)
  expect(items.get('1')).toBe(1)
})

it('does not move an item each time that it is used', () => {
  const items = new RecentItems<number>(10_000)
  items.set('hot', 1)
  const remove = vi.spyOn(Map.prototype, 'delete')
  for (let time = 0; time < 10_000; time += 1) items.get('hot')
  const moves = remove.mock.calls.length
  remove.mockRestore()
  expect(moves).toBeLessThanOrEqual(2)
})
