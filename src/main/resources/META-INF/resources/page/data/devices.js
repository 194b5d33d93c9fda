import { mebibytes } from '../dom/format.js';

/**
 * The devices of a host as the page shows them.
 * @param {object} snapshot of the host
 * @returns {Array} for each device its memory in MiB (null if unknown), its attachments, what uses it, and whether these were observed
 */
export function devicesOf(snapshot) {
  const missing = snapshot.not_observed ?? [];
  const known = {
    processes: !missing.includes('processes') && !missing.includes('every_process'),
    environments: !missing.includes('environments'),
    attachments: !missing.includes('attachments') && !missing.includes('environments'),
  };
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
      users: groups(uses.get(index) ?? [], (process) => kindOf(process, known, environments, attachments), environments),
      unexplained: unexplainedOf(mebibytes(unexplained.get(index)?.gpu_memory), index, snapshot.gpu_unlisted?.processes ?? []),
      areUsesKnown: known.processes,
      areAttachmentsKnown: known.attachments,
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

/** The processes that are not listed explain memory if they provably use the device, or at least hold it. */
function unexplainedOf(mib, index, processes) {
  if (mib === null) {
    return [];
  }
  const using = processes.filter((process) => process.used_devices.includes(index));
  const holding = using.length > 0 ? using : processes.filter((process) => process.devices.includes(index));
  const users = new Set(holding.map((process) => process.user));
  return [{ key: 'unexplained', kind: 'unexplained', eid: null, user: users.size === 1 ? [...users][0] : null, mib, pids: holding.map(({ pid }) => pid) }];
}

/** One group for each environment, and one for each kind of process and user without one. */
function groups(uses, kindOfProcess, environments) {
  const byKey = new Map();
  for (const { process, mib } of uses) {
    const kind = kindOfProcess(process);
    const user = userOf(environments.get(process.eid)) ?? process.user;
    const key = `${kind} ${process.eid ?? ''} ${user ?? ''}`;
    const group = byKey.get(key) ?? { key, kind, eid: process.eid, user, mib: 0, pids: [], isPartial: false };
    group.mib += mib ?? 0;
    group.isPartial ||= mib === null;
    group.pids.push(process.pid);
    byKey.set(key, group);
  }
  return [...byKey.values()].sort((one, other) => one.key.localeCompare(other.key));
}

/** What was not observed shows nothing about a process. */
function kindOf(process, known, environments, attachments) {
  if (process.membership?.by === 'unknown') {
    return 'unknown';
  }
  if (process.eid === null) {
    return 'outside';
  }
  if (!environments.has(process.eid)) {
    return known.environments ? 'inactive' : 'undecided';
  }
  if (!known.attachments) {
    return 'undecided';
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
  undecided: 'environments or attachments not observed',
  unexplained: 'no listed process explains it',
};
