package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.Restraint;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The settings. They are read from environment variables and from nowhere else: a framework's own reading would also take
 * files of the working directory, and an empty variable for a value.
 *
 * @param interval from the beginning of one cycle to that of the next; zero for a single one
 * @param signals genv's own switch: whether processes may be signalled at all
 * @param restraint what holds the service back
 * @param protectedExecutables what is never ended, besides what is built in
 * @param exemptUsers names or uids of users of whom nothing is ended
 * @param nvidiaSmi a path, or a name that is looked for in the usual folders
 * @param requireHostPid whether to act only in the host's PID namespace
 * @param nodeName how this node is called in reports; null for the host's name
 * @param remote the other machines that are enforced on; null where it is this one
 * @param apiTokenFile what the API wants to be shown; null where it answers everybody
 * @param httpAllowedHosts host names by which clients may address the service, besides the node's own
 */
record Settings(
        Duration interval,
        ServiceMode mode,
        boolean signals,
        Map<RuleName, RuleMode> rules,
        DeviceLimits limits,
        Restraint restraint,
        List<ProtectedExecutable> protectedExecutables,
        List<String> exemptUsers,
        Path stateDir,
        Duration lockTimeout,
        GpuSource gpuSource,
        String nvidiaSmi,
        Duration gpuTimeout,
        boolean requireHostPid,
        @Nullable String nodeName,
        @Nullable RemoteSettings remote,
        @Nullable Path apiTokenFile,
        Set<String> httpAllowedHosts) {

    /** What tells us about the GPUs. */
    enum GpuSource {
        /** The best there is. */
        AUTO,
        NVIDIA_SMI
    }

    Settings {
        rules = Map.copyOf(rules);
        protectedExecutables = List.copyOf(protectedExecutables);
        exemptUsers = List.copyOf(exemptUsers);
        httpAllowedHosts = Set.copyOf(httpAllowedHosts);
    }

    /**
     * Reads them all.
     *
     * @throws BadSettingsException naming every one that is bad
     */
    static Settings read(Variables variables) throws BadSettingsException {
        var interval = variables.get("GENV_ENFORCER_INTERVAL", Duration.ofSeconds(10), Values::interval);
        var remote = RemoteSettings.read(variables);
        var settings = new Settings(
                interval,
                variables.get("GENV_ENFORCER_MODE", ServiceMode.ENFORCE, Values::mode),
                variables.get("GENV_TERMINATE_PROCESSES", true, Values::genvSwitch),
                rules(variables),
                new DeviceLimits(
                        variables.find("GENV_ENFORCER_MAX_DEVICES_PER_USER", Values::limit),
                        variables.get("GENV_ENFORCER_MAX_DEVICES_FOR_USER", Map.of(), Values::userLimits)),
                restraint(variables, interval.isZero(), remote),
                variables.get(
                        "GENV_ENFORCER_PROTECTED_EXECUTABLES",
                        List.<ProtectedExecutable>of(),
                        Values::protectedExecutables),
                variables.get("GENV_ENFORCER_EXEMPT_USERS", List.<String>of(), Values::users),
                variables.get(
                        "GENV_ENFORCER_STATE_DIR",
                        variables.get("GENV_TMPDIR", Path.of("/var/tmp/genv"), Values::absolutePath),
                        Values::absolutePath),
                variables.get("GENV_ENFORCER_LOCK_TIMEOUT", Duration.ofSeconds(5), Values::timeout),
                variables.get("GENV_ENFORCER_GPU_SOURCE", GpuSource.AUTO, Values::gpuSource),
                variables.get("GENV_ENFORCER_NVIDIA_SMI", "nvidia-smi", program -> program),
                variables.get("GENV_ENFORCER_GPU_TIMEOUT", Duration.ofSeconds(30), Values::timeout),
                variables.get("GENV_ENFORCER_REQUIRE_HOST_PID", true, Values::yesOrNo),
                variables.find("GENV_ENFORCER_NODE_NAME", name -> name),
                remote,
                variables.find("GENV_ENFORCER_API_TOKEN_FILE", Values::tokenFile),
                variables.get("GENV_ENFORCER_HTTP_ALLOWED_HOSTS", Set.<String>of(), Values::hostNames));
        if (remote != null && remote.protocol() == RemoteSettings.Protocol.GENV) {
            refuseWhatGenvCannotKeep(variables);
        }
        // Quarkus reads them itself, but reports a bad value in a form of its own.
        variables.find("QUARKUS_HTTP_PORT", Values::port);
        variables.find("QUARKUS_MANAGEMENT_PORT", Values::port);
        variables.check();
        return settings;
    }

    /** What is silently not kept would end what somebody relies on. */
    private static void refuseWhatGenvCannotKeep(Variables variables) {
        for (var name : List.of("GENV_ENFORCER_PROTECTED_EXECUTABLES", "GENV_ENFORCER_EXEMPT_USERS")) {
            if (variables.isSet(name)) {
                variables.refuse(
                        name,
                        "genv's own protocol does not tell who runs what, so this cannot be kept: set GENV_ENFORCER_REMOTE_AGENT=shell, or take it out");
            }
        }
        if (variables.get("GENV_ENFORCER_ENV_OWNER", RuleMode.AUDIT, Values::ruleMode) == RuleMode.ENFORCE) {
            variables.refuse(
                    "GENV_ENFORCER_ENV_OWNER",
                    "genv's own protocol does not tell who runs what: expected off or audit, or GENV_ENFORCER_REMOTE_AGENT=shell");
        }
        if (variables
                .get("GENV_ENFORCER_KILL_AFTER", Optional.<Duration>empty(), Values::killAfter)
                .isPresent()) {
            variables.refuse(
                    "GENV_ENFORCER_KILL_AFTER",
                    "genv's own protocol has no SIGKILL: set GENV_ENFORCER_REMOTE_AGENT=shell, or expected never");
        }
    }

    /** A single cycle has no later one in which anything could be waited for, and brakes only if it is told to. */
    private static Restraint restraint(Variables variables, boolean single, @Nullable RemoteSettings remote) {
        var kills = !single && (remote == null || remote.protocol() != RemoteSettings.Protocol.GENV);
        var killAfter =
                variables.get("GENV_ENFORCER_KILL_AFTER", Optional.of(Duration.ofSeconds(30)), Values::killAfter);
        var stateChangeGrace = variables.get("GENV_ENFORCER_STATE_CHANGE_GRACE", Duration.ofSeconds(60), Values::grace);
        return new Restraint(
                variables.get(
                        "GENV_ENFORCER_GRACE_PERIOD",
                        Duration.ZERO,
                        single ? Values::graceOfASingleCycle : Values::grace),
                single ? Duration.ZERO : stateChangeGrace,
                kills ? killAfter.orElse(null) : null,
                variables.get(
                        "GENV_ENFORCER_COMPLIANCE_PERIOD",
                        Restraint.DEFAULT_COMPLIANCE_PERIOD,
                        Values::compliancePeriod),
                variables.get("GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE", single ? 0 : 10, Values::limit));
    }

    private static Map<RuleName, RuleMode> rules(Variables variables) {
        var rules = new EnumMap<RuleName, RuleMode>(RuleName.class);
        for (var rule : RuleName.values()) {
            var otherwise = switch (rule) {
                case NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES -> RuleMode.OFF;
                // Without a limit there is nothing that this one could enforce.
                case ENV_DEVICES, ENV_MEMORY, MAX_DEVICES_PER_USER -> RuleMode.ENFORCE;
                case ENV_OWNER -> RuleMode.AUDIT;
            };
            var name = Variables.PREFIX + rule.name() + (rule == RuleName.MAX_DEVICES_PER_USER ? "_MODE" : "");
            rules.put(rule, variables.get(name, otherwise, Values::ruleMode));
        }
        return rules;
    }
}
