import { count, shortened } from '../dom/format.js';
import { data } from '../data/store.js';

let known = null;

/** Writes new violations into a region that a screen reader reads aloud when it is idle. */
export function announceViolations(region) {
  if (data.violations === null) {
    return;
  }
  const active = data.violations.filter((violation) => violation.status === 'active' || !known?.has(violation.id));
  const added = known === null ? [] : active.filter((violation) => !known.has(violation.id));
  known = new Set(data.violations.map((violation) => violation.id));
  if (added.length > 0) {
    region.textContent = added.length === 1
      ? `New violation: ${shortened(added[0].message)}`
      : count(added.length, 'new violation');
  }
}
