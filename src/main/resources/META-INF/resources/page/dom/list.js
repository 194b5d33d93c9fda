const entriesOf = new WeakMap();

/**
 * Makes the children of a node show a list, and changes only what has changed. A child keeps its element, and with it the focus,
 * as long as its key is in the list.
 * @param {Element} parent has no other children
 * @param {Array} items
 * @param keyOf gives each item a key; of items with the same key only the first is shown
 * @param create makes `{node, update(item)}` for a new key; `update` is called after it, and when the item is another object
 */
export function showList(parent, items, keyOf, create) {
  const before = entriesOf.get(parent) ?? new Map();
  const now = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!now.has(key)) {
      now.set(key, updated(before.get(key) ?? { ...create(item), item: undefined }, item));
    }
  }
  for (const [key, entry] of before) {
    if (!now.has(key)) {
      entry.node.remove();
    }
  }
  let place = parent.firstElementChild;
  for (const entry of now.values()) {
    if (entry.node === place) {
      place = place.nextElementSibling;
    } else {
      parent.insertBefore(entry.node, place);
    }
  }
  entriesOf.set(parent, now);
}

function updated(entry, item) {
  if (entry.item !== item) {
    entry.item = item;
    entry.update(item);
  }
  return entry;
}
