package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** What a rule checks: the whole fleet, because a user's quota spans machines. It has no state. */
@FunctionalInterface
public interface Rule {
    /** Adds what it finds on these hosts of the fleet, of which all parts that it requires were observed. */
    void check(List<Snapshot> hosts, RuleCheck check);

    /** Returns a rule that checks each host by itself. */
    static Rule ofHost(BiConsumer<Snapshot, RuleCheck> rule) {
        return (hosts, check) -> hosts.forEach(host -> rule.accept(host, check));
    }

    /**
     * One check of a rule: what it must know, and what it finds.
     *
     * @param ending the processes that are treated as gone: they may still violate the rule, but no other process is terminated for what they hold
     * @param problems what prevented a check
     */
    record RuleCheck(
            RuleDefinition rule,
            Fleet fleet,
            ExpectedExits ending,
            Limits limits,
            IdleLimits idle,
            List<RuleFinding> findings,
            List<HostProblem> problems) {
        RuleCheck(RuleDefinition rule, Fleet fleet, ExpectedExits ending, Limits limits, IdleLimits idle) {
            this(rule, fleet, ending, limits, idle, new ArrayList<>(), new ArrayList<>());
        }

        /** Adds what was found, unless other allocators run all processes of it. The devices of an environment are its user's. */
        void add(Violation violation, List<Action> actions) {
            if (!rule.isOfFleet()
                    && !violation.processes().isEmpty()
                    && violation.processes().stream().allMatch(GpuProcess::isLeftAlone)) {
                return;
            }
            findings.add(new RuleFinding(violation, actions));
        }

        void problem(Snapshot host, ProblemCode code, String detail) {
            problems.add(new HostProblem(host.host(), code, detail));
        }
    }

    /** A violation, and the actions that its rule asks for. */
    record RuleFinding(Violation violation, List<Action> actions) {}

    /**
     * The processes that rules treat as gone although they still run, and those that were expected to exit and did not.
     *
     * @param signalled those that were signalled
     * @param overdue those of them that did not exit in time: the memory rule does not treat them as gone, and chooses them before others
     * @param terminated those that a rule terminates in this cycle
     */
    record ExpectedExits(Set<HostProcess> signalled, Set<HostProcess> overdue, Set<HostProcess> terminated) {
        public static final ExpectedExits NONE = new ExpectedExits(Set.of(), Set.of(), Set.of());

        public ExpectedExits and(Collection<HostProcess> more) {
            var all = new HashSet<>(terminated);
            all.addAll(more);
            return new ExpectedExits(signalled, overdue, all);
        }

        /** Whether a process is treated as gone. */
        boolean isGone(HostProcess process) {
            return signalled.contains(process) || terminated.contains(process);
        }

        /** Whether a process did not exit in time, so that its memory is not freed. */
        boolean isOverdue(HostProcess process) {
            return overdue.contains(process) && !terminated.contains(process);
        }
    }

    /** What a rule rests on. */
    enum RuleBasis {
        LISTED_PROCESSES,
        /**
         * The recorded attachments of a user on all hosts. They decide, so the exit of processes does not end a violation. A violation of
         * another rule is over when its processes exited, or when its host was observed and it was not found.
         */
        ATTACHMENTS,
        /** The real uids of processes, and what genv's state says of the environments that they name. */
        UIDS,
        /** The real uids of processes. Nothing that genv's state says matters. */
        REAL_UIDS
    }

    /**
     * A setting of a rule.
     *
     * @param name such as {@code env-devices}: the variable is {@code GENV_ENFORCER_ENV_DEVICES}, the field of a plan request
     *     {@code env_devices}, and the value of the chart {@code envDevices}
     * @param meaning sentences for the documentation of the settings, with code in backquotes
     */
    record RuleSetting(String name, Kind kind, String meaning) {
        /** The type of the value. */
        public enum Kind {
            /** A {@link RuleDefinition.RuleMode}. */
            MODE,
            /** A whole number from 0; unset for no limit. */
            LIMIT,
            /** A whole number from 0 for each of some users. */
            LIMITS_OF_USERS,
            /** A whole number from 0 for the users of each of some groups. */
            LIMITS_OF_GROUPS,
            /** An amount of memory; unset for no limit. Its number is in MiB, in which nvidia-smi reports memory too. */
            MEMORY_LIMIT,
            /** An amount of memory for each of some users. */
            MEMORY_LIMITS_OF_USERS,
            /** An amount of memory for the users of each of some groups. */
            MEMORY_LIMITS_OF_GROUPS;

            public boolean isOfUsers() {
                return this == LIMITS_OF_USERS || this == MEMORY_LIMITS_OF_USERS;
            }

            public boolean isOfGroups() {
                return this == LIMITS_OF_GROUPS || this == MEMORY_LIMITS_OF_GROUPS;
            }

            /** Whether it is the limit of all users without their own. */
            public boolean isLimit() {
                return this == LIMIT || this == MEMORY_LIMIT;
            }
        }
    }
}
