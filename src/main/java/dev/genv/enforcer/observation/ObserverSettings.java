package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.ConfiguredUsers.ConfiguredUser;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the observer of a machine must know besides its facts.
 *
 * @param protectedExecutables programs that are never terminated, besides the built-in ones
 * @param exemptUsers names or uids of users whose processes are never terminated
 * @param policyUsers the users who have limits of their own, and those whom the policy exempts
 * @param policyGroups the groups that have limits
 * @param exemptCgroups the paths below which other allocators run jobs
 * @param earlierCgroups those that only the policy before a change exempts
 * @param needs what the service must be allowed on the machine
 * @param overwrittenIsOutside whether a process counts as outside of all environments if it has overwritten its environ, and nothing shows
 *     to which environment it belongs
 * @param unlistedMemory how much memory of a device may belong to no listed process before it is reported
 * @param statusAge how old what the driver measures on the devices may be; zero to ask in every observation
 */
public record ObserverSettings(
        String host,
        String stateDirectory,
        List<ProtectedExecutable> protectedExecutables,
        List<String> exemptUsers,
        List<ConfiguredUser> policyUsers,
        List<ConfiguredGroup> policyGroups,
        List<String> exemptCgroups,
        List<String> earlierCgroups,
        Needs needs,
        boolean overwrittenIsOutside,
        Memory unlistedMemory,
        Duration statusAge) {
    public ObserverSettings {
        protectedExecutables = List.copyOf(protectedExecutables);
        exemptUsers = List.copyOf(exemptUsers);
        policyUsers = List.copyOf(policyUsers);
        policyGroups = List.copyOf(policyGroups);
        exemptCgroups = List.copyOf(exemptCgroups);
        earlierCgroups = List.copyOf(earlierCgroups);
    }

    /**
     * Returns the settings with a policy.
     *
     * @param users whom it names besides these
     * @param groups that it names besides these
     * @param cgroups that it exempts besides these
     * @param earlier those that only the policy before a change exempts
     * @param needsStatus whether every observation needs what the driver measures
     */
    public ObserverSettings with(
            List<ConfiguredUser> users,
            List<ConfiguredGroup> groups,
            List<String> cgroups,
            List<String> earlier,
            boolean needsStatus) {
        return new ObserverSettings(
                host,
                stateDirectory,
                protectedExecutables,
                exemptUsers,
                Stream.concat(policyUsers.stream(), users.stream()).distinct().toList(),
                Stream.concat(policyGroups.stream(), groups.stream()).distinct().toList(),
                Stream.concat(exemptCgroups.stream(), cgroups.stream())
                        .distinct()
                        .toList(),
                earlier,
                needs,
                overwrittenIsOutside,
                unlistedMemory,
                needsStatus ? Duration.ZERO : statusAge);
    }

    /** Returns the users whom settings or the policy exempt, on a machine with these accounts. */
    ExemptUsers exemptUsers(Accounts accounts) {
        var ofPolicy = policyUsers.stream()
                .filter(ConfiguredUser::isExempt)
                .collect(Collectors.partitioningBy(
                        ConfiguredUser::isEarlier, Collectors.mapping(ConfiguredUser::user, Collectors.toList())));
        return new ExemptUsers(
                Stream.concat(exemptUsers.stream(), ofPolicy.getOrDefault(false, List.of()).stream())
                        .distinct()
                        .toList(),
                ofPolicy.getOrDefault(true, List.of()),
                accounts);
    }

    /** Returns all protected programs, in the order in which {@link dev.genv.enforcer.host.HostFacts#programs} answers for them. */
    public List<ProtectedExecutable> programs() {
        return ProtectedExecutable.with(protectedExecutables);
    }

    /** Returns the users whom settings name. */
    List<ConfiguredUser> configuredUsers() {
        return Stream.of(
                        exemptUsers.stream().map(user -> new ConfiguredUser(user, "GENV_ENFORCER_EXEMPT_USERS", true)),
                        protectedExecutables.stream()
                                .flatMap(program -> program.oneUser().stream())
                                .map(user -> new ConfiguredUser(user, ProtectedExecutable.SETTING, true)),
                        policyUsers.stream())
                .flatMap(Function.identity())
                .distinct()
                .toList();
    }

    /**
     * What the service does on a machine, so which privileges it needs.
     *
     * @param hostPid whether it acts only in the first PID namespace, to which the GPU tool's pids belong
     * @param acts whether it executes any action
     * @param signals whether it terminates processes
     * @param advice how a missing privilege is given
     */
    public record Needs(boolean hostPid, boolean acts, boolean signals, Advice advice) {}

    /** How the service is given a privilege. */
    public enum Advice {
        CONTAINER(
                "this is not the host's PID namespace",
                "run with --pid=host",
                "run as root with --cap-add %s",
                "%s cannot be written, so nothing can be detached: mount it writable, with mode 0777"),
        LOGIN(
                "this login is not in the host's PID namespace",
                "log in on the host itself, not in a container",
                "log in as root, or let sudo give it",
                "%s cannot be written on the machine, so nothing can be detached: set its mode to 0777");

        private final String otherNamespace;
        private final String enterNamespace;
        private final String addCapability;
        private final String openState;

        Advice(String otherNamespace, String enterNamespace, String addCapability, String openState) {
            this.otherNamespace = otherNamespace;
            this.enterNamespace = enterNamespace;
            this.addCapability = addCapability;
            this.openState = openState;
        }

        /** Why no action is executed outside the host's PID namespace. */
        String namespaceReason() {
            return otherNamespace + ": " + enterNamespace;
        }
    }

    public record Privileges(ObserverSettings settings, AccessFacts access) {
        private static final String UNREADABLE_ENVIRON =
                "the environment variables of other users' processes cannot be read: ";

        /** The default profiles of container engines. */
        private static final Pattern APPARMOR_OF_A_CONTAINER = Pattern.compile(
                "(docker-default|cri-containerd\\.apparmor\\.d|crio-default|containers-default-\\S*) \\(enforce\\)");

        /** Whether the service is in another PID namespace: there the driver's pids belong to other processes. */
        public boolean isOutsideHostPid() {
            return settings.needs.hostPid && !access.pidNamespace().equals(AccessFacts.FIRST_PID_NAMESPACE);
        }

        public List<MissingPrivilege> missing() {
            var needs = settings.needs;
            var advice = needs.advice;
            var missing = new ArrayList<MissingPrivilege>();
            if (isOutsideHostPid()) {
                missing.add(new MissingPrivilege(
                        "HOST_PID",
                        "%s, so the pids of GPU processes refer to other processes %s: %s"
                                .formatted(
                                        advice.otherNamespace,
                                        advice == Advice.CONTAINER ? "here" : "there",
                                        advice.enterNamespace)));
            }
            if (!access.has(AccessFacts.CAP_SYS_PTRACE)) {
                missing.add(capability("SYS_PTRACE", UNREADABLE_ENVIRON));
            }
            if (!access.has(AccessFacts.CAP_DAC_READ_SEARCH) && !access.has(AccessFacts.CAP_DAC_OVERRIDE)) {
                missing.add(capability("DAC_READ_SEARCH", UNREADABLE_ENVIRON));
            }
            if (needs.acts && needs.signals && !access.has(AccessFacts.CAP_KILL)) {
                missing.add(capability("KILL", "processes of other users cannot be signalled: "));
            }
            var profile = APPARMOR_OF_A_CONTAINER.matcher(access.securityLabel());
            if (advice == Advice.CONTAINER && profile.matches()) {
                missing.add(new MissingPrivilege(
                        "APPARMOR",
                        "the profile %s prevents reading and signalling other processes: run with --security-opt apparmor=unconfined"
                                .formatted(profile.group(1))));
            }
            if (needs.acts && !access.stateIsWritable()) {
                missing.add(new MissingPrivilege("STATE_WRITE", advice.openState.formatted(settings.stateDirectory())));
            }
            return missing;
        }

        private MissingPrivilege capability(String name, String consequence) {
            return new MissingPrivilege(name, consequence + settings.needs.advice.addCapability.formatted(name));
        }

        /**
         * A privilege that the service lacks.
         *
         * @param name a stable word, such as {@code SYS_PTRACE}
         * @param advice what the service cannot do without it, and how to grant it
         */
        public record MissingPrivilege(String name, String advice) {
            public Problem problem() {
                return new Problem(ProblemCode.MISSING_PRIVILEGE, name + ": " + advice);
            }
        }
    }
}
