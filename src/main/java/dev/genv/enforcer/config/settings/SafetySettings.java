package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;
import java.util.List;

/** What delays, limits or prevents actions. */
@ConfigMapping(prefix = "genv.enforcer")
public interface SafetySettings {
    /**
     * Time for which the service must observe a violation before it terminates or detaches anything. Every user can edit genv's files, so
     * a violation may be another user's edit: meanwhile the service reports it, and users can correct it. With {@code 0s} the service acts
     * at once, as genv does; then any user can have another user's job terminated. A single cycle does not wait.
     */
    @WithDefault("30s")
    @Accepts(SettingKind.GRACE_PERIOD)
    Duration grace();

    /**
     * Time after a change of the policy in which the service does only what the policy before the change would do, too. The policy file
     * changes it, the begin or end of an exception or of hours, and with {@code GENV_ENFORCER_DATA_DIR} also a restart with other variables. Users
     * are warned at once. A change that is taken back within this time ends nothing. {@code 0s} applies changes at once.
     */
    @WithDefault("15m")
    @Accepts(SettingKind.GRACE_PERIOD)
    Duration policyGrace();

    /**
     * Time from SIGTERM to SIGKILL for a process that still breaks a rule. {@code never} sends no SIGKILL. Increase it if jobs
     * need more time to write a checkpoint. A single cycle sends no SIGKILL.
     */
    @WithDefault("30s")
    @Accepts(SettingKind.KILL_AFTER)
    Duration killAfter();

    /**
     * Time for which a process that got a SIGTERM must break no rule. After that it is a new case, which gets a SIGTERM first.
     * Increase it if processes avoid SIGKILL because they break a rule only from time to time.
     */
    @WithDefault("60s")
    @Accepts(SettingKind.COMPLIANCE_PERIOD)
    Duration compliancePeriod();

    /**
     * Time for which {@code idle-devices} and {@code idle-processes} must observe a device without use. Time in which the host could not be
     * observed does not count.
     */
    @WithDefault("4h")
    @Accepts(SettingKind.IDLE_TIME)
    Duration idleAfter();

    /**
     * Highest utilization of a device, in percent, with which it counts as idle for {@code idle-processes}, for the page and for the API.
     * nvidia-smi reports for about the last second how long a kernel ran. The service reads it in every cycle if {@code idle-processes} is
     * not off, and otherwise once a minute.
     */
    @WithDefault("1")
    @Accepts(SettingKind.PERCENT)
    int idleUtilization();

    /**
     * Number of processes of one host that the service may terminate in one cycle. The others wait for the next cycle and
     * are reported. {@code 0} means no limit. A single cycle has no limit unless this is set.
     */
    @WithDefault("10")
    @Accepts(SettingKind.LIMIT)
    int maxTerminationsPerCycle();

    /**
     * Programs that the service never terminates, in addition to the MPS server and its control, nvidia-persistenced,
     * nv-hostengine, Xorg, Xwayland, gnome-shell and KWin. A process is protected if it runs the file at this path on the host
     * and its real uid is 0. {@code path@user} also protects the processes of that user, {@code path@*} those of all users.
     * The file must belong to root, and no other user may be able to write to it. Separate the paths by commas or blanks.
     */
    @WithDefault("")
    @Accepts(SettingKind.PROGRAMS)
    List<ProtectedExecutable> protectedExecutables();

    /**
     * Users whose processes the service never terminates and whose environments it never detaches. It reports their violations.
     * The real uid of a process decides; for a detachment, the real uids of all live pids of the environment. Separate the users
     * by commas or blanks. While a machine knows no account of a user, nothing is done there to who may be this user.
     */
    @WithDefault("")
    @Accepts(SettingKind.USER_NAMES)
    List<String> exemptUsers();

    /**
     * Cgroups in which another allocator runs jobs, such as Slurm or Kubernetes: paths, with everything below them. No rule
     * concerns a process there, and its memory counts for no user. A path through {@code user@UID.service} is never exempt,
     * because its user chooses the names below it. While the cgroup of a process is unknown, the process is not terminated.
     */
    @WithDefault("")
    @Accepts(SettingKind.CGROUPS)
    List<String> exemptCgroups();

    /**
     * What a process counts as if it has overwritten its environment variables, as programs do that set their title, and nothing
     * shows to which environment it belongs. {@code unknown} reports it, and only the memory of users is checked. With {@code outside} it
     * belongs to no environment. Set {@code outside} if users avoid {@code non-env-processes} this way.
     */
    @WithDefault("unknown")
    OverwrittenEnviron overwrittenEnviron();

    /**
     * With {@code true} the service only reports, and is not ready, outside the host's PID namespace: there the GPU driver lists
     * no processes, or pids that belong to others. Set {@code false} only for tests.
     */
    @WithDefault("true")
    boolean requireHostPid();

    /** What a process counts as if it has overwritten its environ, and nothing shows to which environment it belongs. */
    enum OverwrittenEnviron {
        /** It may be in any environment, so no rule checks it. */
        UNKNOWN,
        /** It is outside of all environments. */
        OUTSIDE
    }
}
