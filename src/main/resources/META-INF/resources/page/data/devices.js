import { mebibytes } from '../dom/format.js';

/**
 * The devices of a host as the page shows them.
 * @param {object} snapshot of the host
 * @param {Array} statuses what the driver measures on each device
 * @returns {Array} for each device its memory in MiB (null if unknown), its attachments, what uses it, whether these were observed,
 *     its status (null if unknown), and its state
 */
export function devicesOf(snapshot, statuses) {
  const missing = snapshot.not_observed ?? [];
  const known = {
    processes: !missing.includes('processes') && !missing.includes('every_process'),
    environments: !missing.includes('environments'),
    attachments: !missing.includes('attachments') && !missing.includes('environments'),
  };
  const environments = new Map(snapshot.envs.envs.map((env) => [env.eid, env]));
  const described = new Map(snapshot.devices.devices.map((device) => [device.index, device]));
  const measured = new Map(statuses.map((status) => [status.device, status]));
  const uses = usesByDevice(snapshot.processes.processes);
  const unexplained = new Map((snapshot.unexplained_memory ?? []).map((device) => [device.index, device]));
  const indexes = new Set([...described.keys(), ...measured.keys(), ...uses.keys(), ...unexplained.keys()]);
  return [...indexes].sort((one, other) => one - other).map((index) => {
    const device = described.get(index) ?? { index, total_memory: null, attachments: [] };
    const status = measured.get(index) ?? null;
    const attachments = device.attachments.map(({ eid }) => ({ eid, user: userOf(environments.get(eid)) }));
    const groups = [
      ...groupsOf(uses.get(index) ?? [], (process) => kindOf(process, known, environments, attachments)),
      ...unexplainedOf(mebibytes(unexplained.get(index)?.gpu_memory)),
    ];
    return {
      index,
      total: status?.total_bytes ? status.total_bytes / 1_048_576 : mebibytes(device.total_memory),
      attachments,
      groups,
      areUsesKnown: known.processes,
      areAttachmentsKnown: known.attachments,
      status,
      state: stateOf(groups, status, known),
    };
  });
}

/**
 * A device is free if nobody holds or uses it, and idle if it is held and nothing is computed on it. Both are measured: without a process
 * that uses it, its memory or its utilization may be unknown.
 */
function stateOf(groups, status, known) {
  if (status?.free_since) {
    return 'free'; // also with a protected program, which is no use of it
  }
  if (groups.length === 0 && !(known.processes && known.attachments)) {
    return 'unknown';
  }
  if (status?.idle_since) {
    return 'idle';
  }
  return groups.length > 0 || status?.utilization > 0 ? 'busy' : 'unknown';
}

/** The name of an environment's user, or the uid without one. */
function userOf(environment) {
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

function unexplainedOf(mib) {
  return mib === null ? [] : [{ ...groupOf('unexplained', 'unexplained', { eid: null, user: null }), mib }];
}

/** One group for each environment, kind of process and user. */
function groupsOf(uses, kindOfProcess) {
  const byKey = new Map();
  for (const { process, mib } of uses) {
    const kind = kindOfProcess(process);
    const key = `${kind} ${process.eid ?? ''} ${process.user ?? ''}`;
    const group = byKey.get(key) ?? groupOf(key, kind, process);
    group.mib += mib ?? 0;
    group.isPartial ||= mib === null;
    group.processes.push({ pid: process.pid, command: process.command });
    byKey.set(key, group);
  }
  return [...byKey.values()].sort((one, other) => one.key.localeCompare(other.key));
}

function groupOf(key, kind, { eid, user, user_by: userBy }) {
  return { key, kind, eid, user, isRecorded: userBy === 'recorded', mib: 0, processes: [], isPartial: false };
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
