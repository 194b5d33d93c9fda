/** Whether two values of JSON are the same. */
function isSame(one, other) {
  if (one === other) {
    return true;
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return false;
  }
  const names = Object.keys(one);
  return Array.isArray(one) === Array.isArray(other)
    && names.length === Object.keys(other).length
    && names.every((name) => isSame(one[name], other[name]));
}

/** Returns the old object if the new one is the same, so that views recognize unchanged objects by their identity. */
export function keepSame(before, now) {
  return isSame(before, now) ? before : now;
}

/** The same for each object of a list, which are compared by key. */
export function keepSameItems(before, now, keyOf) {
  const known = new Map((before ?? []).map((item) => [keyOf(item), item]));
  const items = now.map((item) => keepSame(known.get(keyOf(item)), item));
  return before?.length === items.length && items.every((item, i) => item === before[i]) ? before : items;
}

/** The same for each member of an object. */
export function keepSameMembers(before, now) {
  return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, keepSame(before?.[name], value)]));
}
