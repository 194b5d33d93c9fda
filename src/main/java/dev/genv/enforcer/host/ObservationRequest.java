package dev.genv.enforcer.host;

import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import java.util.List;
import java.util.Set;

/**
 * What an observation needs besides what every one gathers.
 *
 * @param verified the processes whose exit the service waits for
 * @param deviceMemory whether the used memory of the devices must not be older than the list of the processes
 * @param deviceStatus whether to ask what the driver measures on the devices
 * @param first the pids of the processes whose environs are read before the others of their owners
 * @param accounts names and uids of users, of which the name service of the machine is asked
 * @param knownUids those of which it need not be asked: what there is to know of them is known, or was asked for a short time ago
 * @param moreAccounts of how many other uids of observed processes that have no account in passwd(5) it is asked in the same call
 * @param users of the settings, of whom the name service is asked by themselves
 * @param groups the names of groups of the settings, of which the name service is asked
 * @param members the names of users whose groups it is asked for
 * @param subordinateUids those of the last observation: their processes count as their owner's
 */
public record ObservationRequest(
        Set<ProcessId> verified,
        boolean deviceMemory,
        boolean deviceStatus,
        List<Integer> first,
        List<String> accounts,
        Set<Long> knownUids,
        int moreAccounts,
        List<String> users,
        List<String> groups,
        List<String> members,
        SubordinateUids subordinateUids) {
    /** Creates the request of an observation that explains all used memory. */
    public ObservationRequest(Set<ProcessId> verified) {
        this(
                verified,
                false,
                false,
                List.of(),
                List.of(),
                Set.of(),
                0,
                List.of(),
                List.of(),
                List.of(),
                SubordinateUids.NONE);
    }

    public ObservationRequest {
        verified = Set.copyOf(verified);
        first = List.copyOf(first);
        accounts = List.copyOf(accounts);
        knownUids = Set.copyOf(knownUids);
        users = List.copyOf(users);
        groups = List.copyOf(groups);
        members = List.copyOf(members);
    }
}
