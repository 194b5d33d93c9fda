import { mebibytes } from '../dom/format.js';

/**
 * The devices of a host as the page shows them.
 * @param {object} snapshot of the host
 * @returns {Array} for each device its memory in MiB (null if unknown), its attachments, and what uses it
 */
export function devicesOf(snapshot) {
  const environments = new Map(snapshot.envs.envs.map((env) => [env.eid, env]));
  const described = new Map(snapshot.devices.devices.map((device) => [device.index, device]));
  const uses = usesByDevice(snapshot.processes.processes);
  const unexplained = new Map((snapshot.gpu_unlisted?.devices ?? []).map((device) => [device.index, device]));
  const indexes = new Set([...described.keys(), ...uses.keys(), ...unexplained.keys()]);
  return [...indexes].sort((one, other) => one - other).map((index) => {
    const device = described.get(index) ?? { index, total_memory: null, attachments: [] };
    const attachments = device.attachments.map(({ eid }) => ({ eid, user: userOf(environments.get(eid)) }));
    return {
      index,
      total: mebibytes(device.total_memory),
      attachments,
      users: groups(uses.get(index) ?? [], environments, attachments),
      unexplained: mebibytes(unexplained.get(index)?.gpu_memory),
    };
  });
}

/** The name of an environment's user, or the uid without one. */
export function userOf(environment) {
  return environment ? (environment.username ?? String(environment.uid)) : null;
}

function usesByDevice(processes) {
  const uses = new Map();
  for (const process of processes) {
    for (const use of process.used_gpu_memory) {
      const list = uses.get(use.index) ?? [];
      list.push({ process, mib: mebibytes(use.gpu_memory) });
      uses.set(use.index, list);
    }
  }
  return uses;
}

/** One group for each environment, and one for each kind of process without one. */
function groups(uses, environments, attachments) {
  const byKey = new Map();
  for (const { process, mib } of uses) {
    const kind = kindOf(process, environments, attachments);
    const key = `${kind} ${process.eid ?? ''}`;
    const group = byKey.get(key)
      ?? { key, kind, eid: process.eid, user: userOf(environments.get(process.eid)), mib: 0, pids: [], isPartial: false };
    group.mib += mib ?? 0;
    group.isPartial ||= mib === null;
    group.pids.push(process.pid);
    byKey.set(key, group);
  }
  return [...byKey.values()].sort((one, other) => one.key.localeCompare(other.key));
}

function kindOf(process, environments, attachments) {
  if (process.membership?.by === 'unknown') {
    return 'unknown';
  }
  if (process.eid === null) {
    return 'outside';
  }
  if (!environments.has(process.eid)) {
    return 'inactive';
  }
  return attachments.some(({ eid }) => eid === process.eid) ? 'attached' : 'unattached';
}

/** What each kind of process is called. */
export const KINDS = {
  attached: null,
  unattached: 'GPU not attached',
  inactive: 'environment not active',
  outside: 'outside all environments',
  unknown: 'membership unknown',
  unexplained: 'no listed process explains it',
};
